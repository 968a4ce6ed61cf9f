/** The list of counters. At most one page of rows is in the document. */

import { may, paths, serviceNow, type View } from "../app";
import { debounce, h, repeat, setText } from "../dom";
import { plural } from "../format";
import { arrange, CounterList, SORTS, type SortId } from "../counter-list";
import type { Counter } from "../types";
import { select } from "../ui/field";
import { emptyState, problemBox } from "../ui/blocks";
import { button } from "../ui/button";
import { counterRow, type Row } from "./counter-row";
import { sparklineLoader } from "./sparkline-loader";

const PAGE = 100;
const REFRESH = 5000;

export const overview: View = async (app, main, signal) => {
  const list = new CounterList(app.api, PAGE);
  const sparklines = sparklineLoader(app.api, signal);
  const rows = new Map<string, Row>();
  let page = 0;

  const summary = h("p", { class: "summary" });
  const search = h("input", { attrs: { id: "search", type: "search", placeholder: "Find by name or description", autocomplete: "off", "aria-label": "Find counters" } });
  const sort = select(SORTS);
  sort.setAttribute("aria-label", "Order");
  const status = select([["", "All"], ["running", "Running"], ["fenced", "Fenced"], ["ended", "Ended"], ["retired", "Retired"]]);
  status.setAttribute("aria-label", "Status");
  const progress = h("p", { class: "hint", attrs: { role: "status" } });
  const body = h("tbody", { attrs: { role: "rowgroup" } });
  const head = (text: string, kind: string) => h("th", { class: kind, attrs: { role: "columnheader", scope: "col" } }, text);
  const table = h("table", { class: "counter-list", attrs: { role: "table", "aria-label": "Counters" } },
    h("thead", { attrs: { role: "rowgroup" } }, h("tr", { attrs: { role: "row" } },
      head("Counter", "c-name"), head("Latest value, ± 95 % margin", "c-value"), head("Recent releases", "c-spark"), head("Next release", "c-next"), head("Standard error", "c-error"))),
    body);
  const content = h("div", { attrs: { "aria-busy": "true" } }, h("p", { class: "hint" }, "Loading counters…"));
  const previous = button("Previous", () => turn(-1));
  const next = button("Next", () => turn(1));
  const where = h("span", { attrs: { role: "status" } });
  const pager = h("nav", { class: "pager", attrs: { "aria-label": "Pages of counters", hidden: true } }, previous, where, next);

  main.append(
    h("div", { class: "head" },
      h("div", {}, h("h1", {}, "Counters"), summary),
      may(app, "admin") && h("a", { class: "button button-primary", attrs: { href: paths.create } }, "New counter")),
    h("div", { class: "toolbar", attrs: { role: "search" } }, search, h("div", { class: "toolbar-end" }, h("label", {}, "Order ", sort), h("label", {}, "Status ", status))),
    progress, content, pager);

  const showSummary = () => {
    const counts = app.status.counters;
    const parts = (["running", "fenced", "ended", "retired"] as const).filter((key) => counts[key] > 0 || key === "running").map((key) => `${counts[key].toLocaleString("en")} ${key}`);
    setText(summary, parts.join(", "));
  };

  /** The service's own pages serve an unfiltered list by name. Any other list needs all counters. */
  const plain = () => search.value.trim() === "" && status.value === "" && sort.value === "name";

  async function selected(): Promise<{ shown: Counter[]; total: number }> {
    if (plain()) return { shown: await list.page(page, signal), total: list.total };
    await list.all(signal, (loaded, total) => setText(progress, `Reading all counters: ${loaded.toLocaleString("en")} of ${total.toLocaleString("en")}`));
    setText(progress, "");
    const found = arrange(list.known(), { search: search.value, status: status.value, sort: sort.value as SortId });
    page = Math.min(page, Math.max(0, Math.ceil(found.length / PAGE) - 1));
    return { shown: found.slice(page * PAGE, (page + 1) * PAGE), total: found.length };
  }

  let asked = 0;
  async function draw(): Promise<void> {
    asked += 1;
    const mine = asked;
    const { shown, total } = await selected();
    if (signal.aborted || mine !== asked) return;
    content.removeAttribute("aria-busy");
    if (total === 0) {
      content.replaceChildren(plain() ? nothingYet(may(app, "admin")) : h("div", { class: "empty" }, h("h2", {}, "No counter matches"), h("p", {}, "Change the search or the status above.")));
    } else {
      const wanted = shown.map((counter) => {
        let row = rows.get(counter.name);
        if (!row) rows.set(counter.name, (row = counterRow(counter, sparklines)));
        row.update(counter);
        return row.element;
      });
      // Rows that stay keep their elements, so that focus and scroll position survive a refresh.
      if (wanted.length !== body.children.length || wanted.some((element, index) => body.children[index] !== element)) body.replaceChildren(...wanted);
      if (!content.contains(table)) content.replaceChildren(table);
    }
    pager.hidden = total <= PAGE;
    previous.disabled = page === 0;
    next.disabled = (page + 1) * PAGE >= total;
    setText(where, `${(page * PAGE + 1).toLocaleString("en")} to ${Math.min(total, (page + 1) * PAGE).toLocaleString("en")} of ${plural(total, "counter")}`);
  }

  const attempt = () => draw().catch((cause: unknown) => {
    if (!signal.aborted) content.replaceChildren(problemBox(cause, () => void attempt()));
  });
  function turn(by: number): void {
    page = Math.max(0, page + by);
    void attempt().then(() => main.focus());
  }
  const restart = () => {
    page = 0;
    void attempt();
  };
  search.addEventListener("input", debounce(200, restart));
  sort.addEventListener("change", restart);
  status.addEventListener("change", restart);

  const visible = () => [...body.children].map((element) => rows.get((element as HTMLElement).dataset["name"]!)).filter((row) => row !== undefined);
  app.onStatus(signal, showSummary);
  showSummary();
  await attempt();
  repeat(signal, 1000, () => {
    const now = serviceNow();
    for (const row of visible()) row.tick(now);
  });
  repeat(signal, REFRESH, () => {
    if (!plain()) list.refresh(visible().map((row) => row.name), signal).then(() => attempt(), () => undefined);
    else {
      list.expire(page);
      draw().catch(() => undefined);
    }
  });
};

function nothingYet(admin: boolean): HTMLElement {
  return emptyState("No counters yet",
    h("p", {}, "A counter receives events over HTTP and publishes their total with noise at every step of its clock. Nobody can tell from the releases whether any one event was there, and you can tell how large the error is."),
    h("ol", { class: "lessons" },
      h("li", {}, h("strong", {}, "State the budget. "), "A population is the group of people or events that several counters share, and ε and δ bound what may ever be learned about one of them."),
      h("li", {}, h("strong", {}, "Create a counter. "), "The form shows its error before anything is spent."),
      h("li", {}, h("strong", {}, "Post events. "), "Give each event an id, so that a retry is not counted twice.")),
    admin ? h("a", { class: "button button-primary", attrs: { href: paths.create } }, "Create the first counter") : h("p", { class: "hint" }, "An administrator can create one."));
}
