/** The keys of a counter as small multiples, of which one is shown large. */

import type { Api } from "../../api";
import { sparkline } from "../../chart/sparkline";
import { h } from "../../dom";
import { number } from "../../format";
import { Curves } from "../../series";
import { textInput } from "../../ui/field";
import { valueWithMargin } from "../../ui/blocks";
import type { Watched } from "../counter";

export interface KeysPanel {
  element: HTMLElement;
  load(api: Api): void;
  update(): void;
}

/** The number of keys with a picture. Others are found by name. */
const PICTURED = 12;
const RECENT = 120;

export function keysPanel(watched: Watched, signal: AbortSignal, onSelect: () => void): KeysPanel | null {
  const keys = watched.counter.keys;
  if (!keys || keys.length === 0) return null;
  const size = new Map((watched.counter.latest ?? []).map((release) => [release.key, release.value]));
  const ordered = [...keys].sort((a, b) => (size.get(b) ?? 0) - (size.get(a) ?? 0));
  const pictured = keys.length <= PICTURED ? keys : ordered.slice(0, PICTURED);
  const recent = new Curves(200);

  const tiles = pictured.map((key) => {
    const value = h("span", { class: "tile-value" });
    const picture = h("span", { class: "tile-spark" });
    const element = h("button", { class: "tile", attrs: { type: "button", "data-key": key }, on: { click: () => choose(key) } }, h("span", { class: "tile-key" }, key), value, picture);
    return { key, element, value, picture };
  });
  const grid = h("div", { class: "tiles", attrs: { role: "group", "aria-label": "Keys" } }, ...tiles.map((tile) => tile.element));
  const element = h("section", { class: "keys", attrs: { "aria-label": "Keys" } }, grid);

  if (keys.length > PICTURED) {
    const list = h("datalist", { attrs: { id: "all-keys" } }, ...keys.slice(0, 2000).map((key) => h("option", { attrs: { value: key } })));
    const input = textInput("", { list: "all-keys", "aria-label": "Show another key", placeholder: `Another of ${number(keys.length, 0)} keys` });
    input.addEventListener("change", () => keys.includes(input.value) && choose(input.value));
    element.append(h("div", { class: "field keys-find" }, input, list));
  }

  function choose(key: string): void {
    watched.key = key;
    update();
    onSelect();
  }

  function update(): void {
    const latest = new Map((watched.counter.latest ?? []).map((release) => [release.key, release]));
    if (recent.get(pictured[0] ?? null).length > 0) recent.add((watched.counter.latest ?? []).filter((release) => release.key !== null && pictured.includes(release.key)));
    for (const tile of tiles) {
      tile.element.setAttribute("aria-pressed", String(tile.key === watched.key));
      const release = latest.get(tile.key);
      tile.value.replaceChildren(release ? valueWithMargin(release) : "no release yet");
      tile.picture.replaceChildren(sparkline(recent.get(tile.key)));
    }
  }

  update();
  return {
    element,
    update,
    load(api) {
      const first = Math.max(0, watched.counter.next_step - RECENT);
      if (watched.counter.next_step === 0) return;
      for (const key of pictured) {
        api.releases(watched.counter.name, { first, points: 40, key }, signal).then((page) => {
          recent.add(page.releases);
          update();
        }, () => undefined);
      }
    },
  };
}
