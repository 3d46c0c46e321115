
"use strict";
// The sample browser. All texts reach the page through textContent, never as markup.
(() => {
  const source = document.getElementById("sample-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const $ = (id) => document.getElementById(id);
  const people = new Map(data.people.map((person) => [person.id, person.name]));
  const state = { items: [], chosen: null, words: [] };

  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.append(...highlighted(String(text), className === "text"));
    if (className) made.className = className;
    return made;
  };

  function highlighted(text, wanted) {
    if (!wanted || !state.words.length) return [text];
    const escaped = state.words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return text.split(new RegExp(`(${escaped.join("|")})`, "gi")).map((part, index) => {
      if (index % 2 === 0) return part;
      const mark = document.createElement("mark");
      mark.textContent = part;
      return mark;
    });
  }

  const haystacks = new Map(data.items.map((item) => [item, [
    item.question, item.reference, ...item.replies.map((reply) => (reply ? reply.text : "")),
  ].join("\n").toLowerCase()]));

  function filter() {
    state.words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const person = $("person").value;
    state.items = data.items.filter((item) => (!person || item.person === person)
      && state.words.every((word) => haystacks.get(item).includes(word)));
    if (!state.items.includes(state.chosen)) state.chosen = state.items[0] ?? null;
    $("count").textContent = `${state.items.length} of ${data.items.length} questions`;
    $("question-list").replaceChildren(...state.items.map(entry));
    show();
  }

  function entry(item) {
    const button = element("button", item.question);
    button.type = "button";
    button.append(element("small", people.get(item.person)));
    button.addEventListener("click", () => choose(item));
    const line = document.createElement("li");
    line.append(button);
    return line;
  }

  function choose(item) {
    state.chosen = item;
    show();
  }

  function show() {
    [...$("question-list").querySelectorAll("button")].forEach((button, index) => {
      button.setAttribute("aria-current", String(state.items[index] === state.chosen));
    });
    const item = state.chosen;
    if (!item) {
      $("sample").replaceChildren(element("p", "No question matches.", "note"));
      return;
    }
    const said = element("div", undefined, "said");
    said.append(element("h4", `What ${people.get(item.person)} said`), element("p", item.reference, "text"));
    const replies = element("div", undefined, "replies");
    const boxes = [...$("shown-methods").querySelectorAll("input")];
    replies.append(...data.methods
      .map((method, index) => (boxes[index].checked ? card(method, item.replies[index]) : null))
      .filter(Boolean));
    $("sample").replaceChildren(element("h3", item.question), said, replies);
  }

  function card(method, reply) {
    const made = element("section", undefined, "reply");
    const heading = element("h4", method.label);
    heading.append(element("code", method.spec, "spec"));
    made.append(heading);
    if (!reply) {
      made.append(element("p", "– this method does not apply to this person", "none"));
      return made;
    }
    made.append(reply.text ? element("p", reply.text, "text") : element("p", "– empty reply", "none"));
    const foot = element("footer");
    if (reply.is_cut_off) foot.append(element("p", "cut off at the length limit"));
    foot.append(verdict(reply));
    if (reply.explanation) foot.append(element("p", reply.explanation));
    if (reply.bits_per_character !== null) {
      foot.append(element("p", `real answer: ${reply.bits_per_character.toFixed(3)} bits per character\u00a0↓`));
    }
    made.append(foot);
    return made;
  }

  function verdict(reply) {
    const line = element("p");
    if (reply.status === "ok") {
      line.append(element("strong", `${reply.score} of 5`), ` by ${data.judge}`);
      line.append(...data.badges.flatMap((badge) => [" ", element("span", badge, "badge warn")]));
      return line;
    }
    const reason = data.statuses[reply.status] ?? reply.status;
    const detail = reply.reply_status === "ok" ? reply.detail : data.statuses[reply.reply_status] ?? reply.reply_status;
    line.append(`– no score: ${reason}${detail ? ` (${detail})` : ""}`);
    return line;
  }

  function step(event) {
    const offset = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!offset) return;
    event.preventDefault();
    const index = state.items.indexOf(state.chosen) + offset;
    if (index < 0 || index >= state.items.length) return;
    choose(state.items[index]);
    $("question-list").querySelectorAll("button")[index].focus();
  }

  for (const person of data.people) $("person").append(new Option(person.name, person.id));
  for (const method of data.methods) {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", show);
    const label = document.createElement("label");
    label.append(box, ` ${method.label}`);
    $("shown-methods").append(label);
  }
  $("person").addEventListener("change", filter);
  $("search").addEventListener("input", filter);
  $("question-list").addEventListener("keydown", step);
  $("browser").hidden = false;
  filter();
})();
