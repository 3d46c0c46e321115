"""Progress: a moving line on a terminal, few plain lines elsewhere."""

import io

import pytest

from data_prep import progress as module
from data_prep.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def steps(stream, clock, num, *, seconds, total=None):
    progress = Progress("read", total or num, stream=stream)
    for _ in range(num):
        clock[0] += seconds
        progress.step()
    return stream.getvalue()


def test_a_log_gets_a_line_now_and_then_and_one_at_the_end(clock):
    lines = steps(io.StringIO(), clock, 100, seconds=0.3).splitlines()
    assert lines[-1] == "read: 100/100 (30 s)" and len(lines) == 3
    assert "\r" not in "".join(lines) and "\033" not in "".join(lines)


def test_the_rest_is_estimated_from_what_is_done(clock):
    [line] = steps(io.StringIO(), clock, 1, seconds=20, total=4).splitlines()
    assert line == "read: 1/4 (60 s left)"


def test_a_terminal_gets_one_line_that_moves(clock):
    text = steps(Terminal(), clock, 3, seconds=1)
    assert text.count("\r\033[K") == 3 and text.count("\n") == 1 and text.endswith("\n")


def test_work_that_was_found_done_is_no_division_by_zero(clock):
    progress = Progress("read", 5, stream=io.StringIO())
    clock[0] += 99
    progress.step(count=0)
    progress.step(count=5)
    assert progress.stream.getvalue().splitlines()[-1].startswith("read: 5/5")


def test_nothing_to_do_says_nothing():
    stream = io.StringIO()
    Progress("read", 0, stream=stream)
    assert stream.getvalue() == ""
