"use strict";
(() => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim();
    if (text === "") return null;
    const number = Number(text);
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };
  const order = (a, b) => {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  };
  const sort = (table, column) => {
    const heads = [...table.tHead.rows[0].cells];
    const sign = heads[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
    rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : sign * order(a, b)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, column));
      head.append(button);
    });
  }

  for (const input of document.querySelectorAll("[data-filter]")) {
    const rows = [...document.getElementById(input.dataset.filter).tBodies[0].rows];
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !words.every((word) => row.dataset.words.toLowerCase().includes(word));
    });
  }

  for (const label of document.querySelectorAll(".zoom")) {
    const around = label.nextElementSibling, timeline = around.firstElementChild;
    label.firstElementChild.addEventListener("input", (event) => {
      const middle = (around.scrollLeft + around.clientWidth / 2) / timeline.clientWidth;
      timeline.style.width = `${100 * 10 ** (event.target.value / 40)}%`;
      around.scrollLeft = middle * timeline.clientWidth - around.clientWidth / 2;
    });
  }

  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const show = (element, x, y) => {
    tip.textContent = element.dataset.tip;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 14 + width > innerWidth - 6 ? x - 14 - width : x + 14;
    const top = y + 18 + height > innerHeight - 6 ? y - 12 - height : y + 18;
    tip.style.left = `${Math.max(6, Math.min(left, innerWidth - width - 6))}px`;
    tip.style.top = `${Math.max(6, top)}px`;
  };
  const told = (event) => event.target instanceof Element ? event.target.closest("[data-tip]") : null;
  document.addEventListener("pointermove", (event) => {
    const element = told(event);
    if (element) show(element, event.clientX, event.clientY); else hide();
  });
  document.addEventListener("pointerdown", (event) => {
    const element = told(event);
    if (element) show(element, event.clientX, event.clientY); else hide();
  });
  document.addEventListener("focusin", (event) => {
    const element = told(event);
    if (!element || !element.matches(":focus-visible")) return;
    const box = element.getBoundingClientRect();
    show(element, box.left, box.bottom - 12);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
