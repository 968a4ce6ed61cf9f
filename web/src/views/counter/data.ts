/** Data in and out: a command that records an event, downloads, and a table of releases. */

import type { App } from "../../app";
import { h, setText } from "../../dom";
import { bounds, halfWidth, margin, moment, number } from "../../format";
import type { Release } from "../../types";
import { problemBox } from "../../ui/blocks";
import { busy, button, copyButton } from "../../ui/button";
import { curl } from "../../guarantees";
import type { Watched } from "../counter";

export function eventsPanel(watched: Watched): HTMLElement {
  const command = curl(location.origin, watched.counter);
  return h("div", {},
    h("p", { class: "guarantees" }, "An ingest token may record events. Choose an id for each: an event that is sent twice counts once."),
    h("pre", { class: "code", attrs: { tabindex: 0, "aria-label": "Command that posts an event" } }, command), copyButton("Copy command", () => command));
}

const FORMATS = [["csv", "CSV"], ["json", "JSON"], ["arrow", "Arrow"]] as const;

export function dataPanel(app: App, watched: Watched): HTMLElement {
  const trouble = h("div");
  return h("div", {},
    h("p", { class: "guarantees" }, "Every release with its error. What is released is safe to publish."),
    h("div", { class: "actions" }, ...FORMATS.map(([format, label]) => {
      const target: HTMLButtonElement = button(`Download ${label}`, () => void busy(target, async () => {
        try {
          save(await app.api.download(watched.counter.name, { format }), `${watched.counter.name}.${format}`);
          trouble.replaceChildren();
        } catch (cause) {
          trouble.replaceChildren(problemBox(cause));
        }
      }));
      return target;
    })), trouble);
}

function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  h("a", { attrs: { href: address, download: name } }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const ROWS = 25;

export function tablePanel(app: App, watched: Watched, signal: AbortSignal): { element: HTMLElement; update(): void } {
  const body = h("tbody");
  const caption = h("caption");
  const trouble = h("div");
  /** The newest step in the table. Null follows the newest release. */
  let upTo: number | null = null;
  const head = ["Step", "Time", "Value", "± 95 %", "Lower", "Upper"].map((title) => h("th", { attrs: { scope: "col" } }, title));
  const table = h("table", { class: "data" }, caption, h("thead", {}, h("tr", {}, ...head)), body);
  const region = h("div", { class: "scroll", attrs: { tabindex: 0, role: "region", "aria-label": "Table of releases" } }, table);
  const older = button("Older", () => void move((upTo ?? watched.counter.next_step - 1) - ROWS));
  const newer = button("Newer", () => void move((upTo ?? 0) + ROWS));
  const element = h("details", { class: "table-panel" }, h("summary", {}, "Show the table"),
    region, trouble, h("div", { class: "actions" }, newer, older));
  element.addEventListener("toggle", () => void load());

  function move(to: number): Promise<void> {
    const newest = watched.counter.next_step - 1;
    upTo = to >= newest ? null : Math.max(to, Math.min(newest, ROWS - 1));
    return load();
  }

  function fill(releases: readonly Release[]): void {
    const key = watched.key === null ? "" : ` of “${watched.key}”`;
    setText(caption, releases.length === 0 ? "No releases yet" : `Releases${key}, newest first`);
    body.replaceChildren(...releases.toReversed().map((release) => h("tr", {},
      h("th", { attrs: { scope: "row" } }, number(release.step, 0)),
      ...[release.time === null ? "–" : moment(release.time), number(release.value), margin(halfWidth(release)), bounds(release).lower, bounds(release).upper].map((text) => h("td", {}, text)))));
    older.disabled = (releases[0]?.step ?? 0) === 0;
    newer.disabled = upTo === null;
  }

  let asked = 0;
  async function load(): Promise<void> {
    if (!element.open || watched.counter.next_step === 0) return fill([]);
    asked += 1;
    const mine = asked;
    const last = upTo ?? watched.counter.next_step - 1;
    try {
      const page = await app.api.releases(watched.counter.name, { first: Math.max(0, last - ROWS + 1), last, key: watched.key ?? undefined, limit: ROWS }, signal);
      if (mine !== asked) return;
      trouble.replaceChildren();
      fill(page.releases);
    } catch (cause) {
      if (!signal.aborted && mine === asked) trouble.replaceChildren(problemBox(cause));
    }
  }

  // The table follows new releases only while it shows the newest page and is not focused.
  return { element, update: () => void (element.open && upTo === null && !region.contains(document.activeElement) && load()) };
}
