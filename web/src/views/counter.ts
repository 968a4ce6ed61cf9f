/** One counter: its live curve, its guarantees and its actions. */

import { paths, serviceNow, type View } from "../app";
import { h, repeat, setText } from "../dom";
import { cadence, parseDuration, plural, span } from "../format";
import { follow, type Connection, type Following } from "../live";
import { headline } from "../counter-list";
import { Curves } from "../series";
import type { Counter, Release } from "../types";
import { section, statusChip, valueWithMargin } from "../ui/blocks";
import { noKeyYet, promise } from "../guarantees";
import { actionsPanel } from "./counter/actions";
import { curvePanel } from "./counter/curve-panel";
import { dataPanel, eventsPanel, tablePanel } from "./counter/data";
import { accuracyPanel, factsPanel, protectionPanel } from "./counter/facts";
import { keysPanel } from "./counter/keys";
import { sumPanel } from "./counter/sum";
import { hasCountdown, nextWords } from "./counter-row";

/** What the panels of one counter share. */
export interface Watched {
  counter: Counter;
  /** Null for a counter without keys. */
  key: string | null;
  curves: Curves;
  stepSeconds: number | null;
}

export const counterView = (name: string): View => async (app, main, signal) => {
  main.append(h("p", { class: "hint", attrs: { "aria-busy": "true" } }, "Loading…"));
  const counter = await app.api.counter(name, signal);
  if (signal.aborted) return;
  const watched: Watched = {
    counter,
    key: counter.keys ? (headline(counter)?.key ?? counter.keys[0] ?? null) : null,
    curves: new Curves(),
    stepSeconds: counter.every === null ? null : parseDuration(counter.every),
  };

  const chip = h("span");
  const figure = h("p", { class: "figure" });
  const sentence = h("p", { class: "promise" });
  const next = h("span", { class: "next" });
  const link = h("span", { class: "connection", attrs: { role: "status" } });
  let following: Following | null = null;

  const sum = sumPanel(app, watched, signal, (words) => curve.measured(words));
  const curve = curvePanel(app, watched, signal, (first, last) => sum?.choose(first, last));
  let keys = keysPanel(watched, signal, () => void select());
  const keysPlace = h("div", {}, keys?.element ?? "");
  const accuracy = accuracyPanel(watched);
  const facts = factsPanel(watched);
  const table = tablePanel(app, watched, signal);
  const actions = actionsPanel(app, watched, reload);

  main.replaceChildren(
    h("nav", { class: "crumbs", attrs: { "aria-label": "Where you are" } }, h("a", { attrs: { href: paths.counters } }, "Counters")),
    h("div", { class: "head" },
      h("div", {}, h("h1", {}, counter.name, chip), h("p", { class: "summary" }, counter.description ?? `Releases ${cadence(counter.every)}.`)),
      actions.quick),
    h("section", { class: "hero", attrs: { "aria-label": "Latest release" } },
      h("div", {}, figure, sentence), h("div", { class: "hero-side" }, link, next)),
    keysPlace,
    curve.element,
    accuracy.element,
    section("What is protected", protectionPanel(watched)),
    ...(sum ? [section("Total between two moments", sum.element)] : []),
    section("Post events", eventsPanel(watched)),
    section("Download", dataPanel(app, watched)),
    section("Releases as a table", table.element),
    section("Settings", facts.element),
    ...(actions.danger ? [section("End this counter", actions.danger)] : []));

  function latest(): Release | null {
    return watched.curves.get(watched.key).at(-1) ?? watched.counter.latest?.find((release) => release.key === watched.key) ?? null;
  }

  function show(): void {
    const release = latest();
    chip.replaceChildren(statusChip(watched.counter.status));
    if (release) {
      figure.replaceChildren(valueWithMargin(release));
      setText(sentence, promise(watched.counter, release));
    } else {
      figure.replaceChildren(h("span", { class: "nothing" }, "No release yet"));
      setText(sentence, watched.counter.discover !== null ? noKeyYet(watched.counter.discover) : watched.counter.every === null ? "Post events, then advance the counter by a step: each step publishes one release." : "The first release comes when the first step ends.");
    }
    accuracy.update(release);
    facts.update();
    actions.update();
    tick();
  }

  function tick(): void {
    const { every, status, next_step: released } = watched.counter;
    const words = nextWords(watched.counter, serviceNow());
    if (every === null || status !== "running") setText(next, `${plural(released, "step")} released`);
    else setText(next, `${hasCountdown(every) ? "Next release" : "Releases"} ${words}`);
    if (lost !== null) setText(lost.words, `Connection lost, trying again in ${span((lost.until - Date.now()) / 1000)}`);
  }

  let lost: { until: number; words: HTMLElement } | null = null;
  let state: Connection = { state: "connecting" };
  function connection(now: Connection): void {
    state = now;
    lost = null;
    link.className = `connection connection-${now.state === "live" && watched.counter.status === "fenced" ? "stopped" : now.state}`;
    if (now.state === "lost") {
      const words = h("span");
      lost = { until: now.until, words };
      link.replaceChildren(words, h("button", { class: "button button-quiet", attrs: { type: "button" }, on: { click: () => following?.retry() } }, "Try now"));
      tick();
    } else if (now.state === "connecting") setText(link, "Connecting…");
    else if (now.state === "live") setText(link, watched.counter.status === "fenced" ? "Releases are stopped" : "Live");
    else if (now.state === "refused") setText(link, `Not live: ${now.reason}`);
    else {
      setText(link, "No more releases will come");
      // The service also ends streams when it stops. The counter then continues after a restart.
      void refresh().then(() => {
        if (watched.counter.status === "running") setTimeout(() => signal.aborted || watch(), 3000);
      }, () => setTimeout(() => signal.aborted || watch(), 3000));
    }
  }

  async function refresh(): Promise<void> {
    const before = watched.counter.status;
    watched.counter = await app.api.counter(name, signal);
    if (state.state === "live" && watched.counter.status !== before) connection(state);
    show();
  }

  /** Called after an action changed the counter. */
  async function reload(): Promise<void> {
    await refresh();
    void app.refreshStatus();
  }

  async function select(): Promise<void> {
    show();
    await curve.load();
    table.update();
    sum?.clear();
    show();
  }

  /** Where keys are found, a release may have new ones. */
  function addKeys(releases: readonly Release[]): void {
    const known = watched.counter.keys;
    if (watched.counter.discover === null || known === null) return;
    const found = releases.map((release) => release.key).filter((key) => key !== null && !known.includes(key)) as string[];
    if (found.length === 0) return;
    watched.counter.keys = [...known, ...found];
    const isFirst = watched.key === null;
    watched.key ??= found[0]!;
    keys = keysPanel(watched, signal, () => void select());
    keysPlace.replaceChildren(keys?.element ?? "");
    keys?.load(app.api);
    if (isFirst) void select();
  }

  function watch(): void {
    if (watched.counter.status === "retired" || watched.counter.status === "ended") return connection({ state: "ended" });
    following = follow(app.api, name, watched.counter.next_step, {
      signal,
      onConnection: connection,
      onEvent(event) {
        watched.curves.add(event.releases);
        watched.counter.latest = event.releases;
        addKeys(event.releases);
        watched.counter.next_step = Math.max(watched.counter.next_step, event.step + 1);
        if (event.time !== null && watched.stepSeconds !== null && watched.counter.status === "running") {
          watched.counter.next_release = new Date(Date.parse(event.time) + watched.stepSeconds * 1000).toISOString();
        }
        const mine = event.releases.find((release) => release.key === watched.key);
        if (mine) watched.counter.accuracy.now = mine.standard_error;
        show();
        curve.update();
        keys?.update();
        table.update();
      },
    });
  }

  show();
  await curve.load();
  if (signal.aborted) return;
  show();
  table.update();
  keys?.load(app.api);
  repeat(signal, 1000, tick);
  repeat(signal, 30_000, () => void refresh().catch(() => undefined));
  if (watched.counter.status === "running" || watched.counter.status === "fenced") watch();
  else link.textContent = "";
};
