/** The budget of each population, and the counters that spent it. */

import { may, paths, type View } from "../app";
import { h } from "../dom";
import { parameter, percent, plural } from "../format";
import type { Population } from "../types";
import { budgetBar, budgetWords } from "../ui/budget-bar";
import { emptyState } from "../ui/blocks";
import { populationForm } from "./population-form";

function entries(population: Population): HTMLElement {
  const total = population.spent.rho + population.left.rho;
  const rows = [...population.entries].sort((a, b) => b.rho - a.rho);
  if (rows.length === 0) return h("p", { class: "hint" }, "Nothing is spent yet.");
  const table = h("table", { class: "data" },
    h("caption", {}, "Where it went"),
    h("thead", {}, h("tr", {}, ...["Counter", "Epoch", "ρ", "Share"].map((title) => h("th", { attrs: { scope: "col" } }, title)))),
    h("tbody", {}, ...rows.slice(0, 200).map((entry) => h("tr", {},
      h("th", { attrs: { scope: "row" } }, h("a", { attrs: { href: paths.counter(entry.counter) } }, entry.counter)),
      h("td", {}, entry.epoch), h("td", {}, parameter(entry.rho)), h("td", {}, total > 0 ? percent(entry.rho / total) : "–")))));
  const rest = rows.length - 200;
  const list = h("div", { class: "scroll", attrs: { tabindex: 0, role: "region", "aria-label": `What ${population.name} was spent on` } }, table, rest > 0 && h("p", { class: "hint" }, `and ${plural(rest, "smaller one")}`));
  return rows.length <= 6 ? list : h("details", {}, h("summary", {}, plural(rows.length, "entry", "entries")), list);
}

function card(population: Population): HTMLElement {
  return h("section", { class: "section" },
    h("div", {}, h("h2", {}, population.name), h("p", { class: "hint" }, `Protects one ${population.unit}, ${population.neighbours === "replace" ? "replaced by another" : "added or removed"}.`)),
    h("div", { class: "section-body" }, h("p", { class: "guarantees" }, budgetWords(population)), budgetBar(population), entries(population)));
}

export const budgetView: View = async (app, main, signal) => {
  const list = h("div", { attrs: { "aria-busy": "true" } }, h("p", { class: "hint" }, "Loading…"));
  const admin = may(app, "admin");
  const form = populationForm(app, () => void load());
  const dialogue = h("details", { class: "in-place" }, h("summary", { class: "button" }, "New population"), form);
  main.append(
    h("div", { class: "head" }, h("div", {}, h("h1", {}, "Budget"),
      h("p", { class: "summary" }, "Counters on the same people add up. Each population has a total that is stated in advance, and counters that would exceed it are refused. Bars show ρ, which adds up over counters; ε does not."))),
    list, admin ? dialogue : "");

  async function load(): Promise<void> {
    const populations = await app.api.populations(signal);
    list.removeAttribute("aria-busy");
    if (populations.length === 0) {
      list.replaceChildren(emptyState("No populations yet", h("p", {}, "A population is the group that counters share: all customers, all orders. It comes with a total ε and δ. The smaller they are, the less anyone can learn about one member, and the larger the noise. ε between 0.5 and 2 over its whole life is usual."),
        admin ? "" : h("p", { class: "hint" }, "An administrator can create one.")));
    } else list.replaceChildren(...populations.map(card));
    dialogue.open = false;
  }
  await load();
};
