"""The report in a real browser: offline, readable on a phone, usable with keys, in both schemes."""

import os
import shutil
from itertools import pairwise

import pytest

from eval.report import write_report
from tests.eval.report_run import INJECTION, build_run

pytestmark = pytest.mark.browser

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
# Contrast of every element that has text of its own with the background behind it, WCAG 2 ratio.
LOW_CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => { const [r, g, b] = rgb.slice(0, 3).map((v) => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) {
    const rgb = channels(getComputedStyle(e).backgroundColor);
    if (rgb.length < 4 || rgb[3] > 0) return rgb; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.offsetParent || e.closest("svg") || e.tagName === "OPTION") continue;
    const [a, b] = [light(channels(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)} ${e.textContent}`);
  }
  return bad;
}"""


@pytest.fixture(scope="module")
def chromium(require):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        require("browser", False, "playwright is not installed")
    require("browser", CHROMIUM is not None, "no chromium on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    run, adapters = build_run(tmp_path_factory.mktemp("browser"), texts={"reply": INJECTION})
    return write_report(run, adapters=adapters).as_uri()


@pytest.fixture
def opened(chromium, url):
    """`opened(width, height, scheme)` gives a page; complaints and requests fail the test."""
    contexts, complaints, requests = [], [], []

    def open_page(width=1280, height=900, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert set(requests) <= {url}


def test_heat_map_is_whole_on_the_first_screen(opened):
    box = opened().locator("table.heat").first.bounding_box()
    assert box["y"] > 0 and box["y"] + box["height"] <= 900


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_page_never_scrolls_sideways(opened, width):
    page = opened(width=width)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_against_its_background(opened, scheme):
    page = opened(scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate(LOW_CONTRAST) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_of_the_scale_can_be_read(opened, scheme):
    page = opened(scheme=scheme)
    page.evaluate(
        "for (let i = -6; i <= 6; i++) { const p = document.createElement('p');"
        "p.className = `step${i}`; p.textContent = 'x'; document.body.append(p); }"
    )
    assert page.evaluate(LOW_CONTRAST) == []


def test_dark_scheme_is_dark(opened):
    dark, light = (
        opened(scheme=s).evaluate("getComputedStyle(document.body).backgroundColor")
        for s in ("dark", "light")
    )
    assert dark == "rgb(20, 24, 30)" and light == "rgb(255, 255, 255)"


def test_sample_browser_follows_person_question_method_and_search(opened):
    page = opened()
    assert page.locator("#sample h4").first.inner_text() == "What Maud Ellery-Quist said"
    assert page.locator("#count").inner_text() == "36 of 36 questions"
    page.select_option("#person", label="Tobias Fenwright")
    assert page.locator("#count").inner_text() == "6 of 36 questions"
    assert page.locator("#sample h4").first.inner_text() == "What Tobias Fenwright said"
    page.locator("#question-list button").nth(3).click()
    assert page.locator("#sample h3").inner_text() == "Who taught you most, and how?"
    assert page.locator(".reply").count() == 5
    page.get_by_label("category adapter").uncheck()
    assert page.locator(".reply").count() == 4
    page.fill("#search", "Broken clocks SHED")
    assert page.locator("#count").inner_text() != "6 of 36 questions"
    assert "broken" in page.locator("#sample mark").all_inner_texts()
    page.fill("#search", "zeppelin")
    assert page.locator("#sample").inner_text() == "No question matches."


def test_questions_are_walked_with_arrow_keys(opened):
    page = opened()
    buttons = page.locator("#question-list button")
    buttons.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert buttons.nth(2).get_attribute("aria-current") == "true"
    assert page.locator(":focus").inner_text() == buttons.nth(2).inner_text()
    assert page.locator("#sample h3").inner_text() == "What do people get wrong about your work?"


def test_reply_with_markup_is_shown_as_text(opened):
    page = opened()
    assert page.locator(".reply p.text").first.inner_text() == INJECTION
    assert page.locator("img").count() == 0


def test_verdict_that_could_not_be_read_shows_its_reason(opened):
    page = opened()
    for button in page.locator("#question-list button").all():
        button.click()
        if page.get_by_text("– no score: unreadable (no JSON object)").count():
            return
    pytest.fail("no unread verdict among the samples")


def test_headings_descend_without_gaps_and_every_field_has_a_name(opened):
    page = opened()
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    unnamed = "[...document.querySelectorAll('input, select')].filter((e) => !e.labels.length)"
    assert page.evaluate(f"{unnamed}.length") == 0


def test_print_shows_whole_tables_on_a_sheet(opened):
    page = opened(width=1000)
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator("table.heat").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
