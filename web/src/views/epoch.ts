/** A fenced service: what happened, what a new epoch would cost, and the button that starts it. */

import { paths, type View } from "../app";
import { h } from "../dom";
import { parameter, plural } from "../format";
import { asSentence } from "../problem";
import type { EpochPreview, EpochResult } from "../types";
import { emptyState, section } from "../ui/blocks";
import { button } from "../ui/button";
import { confirmDialog } from "../ui/dialog";

type Costs = EpochPreview["preview"];

function cost(costs: Costs): HTMLElement {
  const sums = new Map<string, number>();
  for (const { population, rho, affordable } of costs) if (affordable) sums.set(population, (sums.get(population) ?? 0) + rho);
  return h("div", {},
    h("ul", { class: "plain" }, ...[...sums].map(([population, rho]) => h("li", {}, h("strong", {}, population), ` is charged ρ = ${parameter(rho)} in all.`))),
    h("div", { class: "scroll", attrs: { tabindex: 0, role: "region", "aria-label": "Cost by counter" } },
      h("table", { class: "data data-words" }, h("caption", { class: "unseen" }, "Cost by counter"),
        h("thead", {}, h("tr", {}, ...["Counter", "Population", "ρ", "Can be paid"].map((title) => h("th", { attrs: { scope: "col" } }, title)))),
        h("tbody", {}, ...costs.map((entry) => h("tr", {}, h("th", { attrs: { scope: "row" } }, entry.counter), h("td", {}, entry.population), h("td", {}, parameter(entry.rho)),
          h("td", { class: entry.affordable ? "" : "bad" }, entry.affordable ? "yes" : "no, it stays stopped")))))));
}

function outcome(started: EpochResult): HTMLElement {
  return h("div", { class: "notice", attrs: { role: "status" } },
    h("p", {}, h("strong", {}, `Epoch ${started.epoch} has begun. `), `${plural(started.restarted.length, "counter continues", "counters continue")} in it.`),
    started.left.length > 0 && h("ul", { class: "plain" }, ...started.left.map(({ counter, reason }) => h("li", {}, `${counter} stays stopped: ${reason}`))),
    h("a", { class: "button", attrs: { href: paths.counters } }, "To the counters"));
}

export const epochView: View = async (app, main, signal) => {
  const epoch = await app.api.epoch(signal);
  const isFenced = epoch.mode === "fenced";
  // If only some counters were left out of the last epoch, the others keep running and cost nothing.
  const stopped = isFenced || app.status.counters.fenced === 0 ? null : new Set((await app.api.counters({ limit: 1000, status: "fenced" }, signal)).counters.map(({ name }) => name));
  const costs = isFenced ? epoch.preview : epoch.preview.filter(({ counter }) => stopped?.has(counter));
  if (signal.aborted) return;
  if (!isFenced && costs.length === 0) {
    main.append(h("h1", { class: "unseen" }, "New epoch"), emptyState("No new epoch is needed", h("p", {}, "The service is not fenced. A new epoch is only needed after the service recognises a restored backup or a copied directory."),
      h("a", { class: "button", attrs: { href: paths.counters } }, "To the counters")));
    return;
  }
  const payable = costs.filter((entry) => entry.affordable).length;
  const start = button("Start a new epoch…", () => confirmDialog({
    title: "Start a new epoch?",
    body: [h("p", {}, `${plural(payable, "counter continues", "counters continue")} with fresh noise, and their populations are charged once more. This cannot be undone.`)],
    action: "Start the epoch",
    run: async () => {
      const started = await app.api.startEpoch();
      await app.refreshStatus();
      main.replaceChildren(h("h1", {}, "New epoch"), outcome(started));
    },
  }), "primary");
  main.append(
    h("div", { class: "head" }, h("div", {}, h("h1", {}, "New epoch"), h("p", { class: "summary" }, isFenced ? "Nothing is released until you decide." : "These counters were left out of the last epoch and stay stopped until you decide."))),
    ...(isFenced ? [
      section("What happened", h("p", { class: "guarantees" }, "The data on disk is older than what this service has already released, or is a copy that may be running elsewhere. Steps released before could be released again over other events."), epoch.reason ? h("p", { class: "guarantees" }, `The service says: ${asSentence(epoch.reason)}`) : ""),
      section("What helps without cost", h("p", { class: "guarantees" }, "If the newest data still exists, stop the service, put that data back, and start it again. Then nothing is charged.")),
    ] : []),
    section("What a new epoch costs", h("p", { class: "guarantees" }, "Counters continue with fresh noise. Earlier releases stay public, so the cost of each counter is charged once more."), cost(costs), h("div", { class: "actions" }, start)));
};
