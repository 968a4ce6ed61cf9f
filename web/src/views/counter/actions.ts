/** The actions on a counter: advance, retire, delete. Shown only to tokens that may use them. */

import { may, paths, type App } from "../../app";
import { h } from "../../dom";
import { plural } from "../../format";
import { sentence } from "../../problem";
import { busy, button } from "../../ui/button";
import { confirmDialog } from "../../ui/dialog";
import type { Watched } from "../counter";

export interface Actions {
  quick: HTMLElement;
  danger: HTMLElement | null;
  update(): void;
}

export function actionsPanel(app: App, watched: Watched, reload: () => Promise<void>): Actions {
  const name = watched.counter.name;
  const quick = h("div", { class: "head-actions" });
  const danger = may(app, "admin") ? h("div") : null;
  let drawn = "";
  if (may(app, "ingest") && watched.counter.every === null) {
    const advance: HTMLButtonElement = button("Advance one step", () => void busy(advance, async () => {
      try {
        const { next_step } = await app.api.advance(name, 1);
        app.announce(`Step ${next_step - 1} is released.`);
        await reload();
      } catch (cause) {
        app.announce(sentence(cause));
      }
    }), "primary");
    advance.dataset["action"] = "advance";
    quick.append(advance);
  }

  const retire = () => confirmDialog({
    title: `Retire ${name}?`,
    body: [h("p", {}, `It stops for good after ${plural(watched.counter.next_step, "released step")}. Its private state is wiped, its releases stay, and what it has spent stays spent. This cannot be undone.`)],
    action: "Retire counter",
    typed: name,
    run: async () => {
      await app.api.retire(name);
      app.announce(`${name} is retired.`);
      await reload();
    },
  });
  const remove = () => confirmDialog({
    title: `Delete ${name}?`,
    body: [h("p", {}, "Its releases are deleted too. The budget that it spent stays spent, and its name cannot be used again.")],
    action: "Delete counter",
    typed: name,
    run: async () => {
      await app.api.remove(name);
      app.announce(`${name} is deleted.`);
      location.hash = paths.counters;
    },
  });

  function update(): void {
    for (const each of quick.querySelectorAll("button")) each.hidden = watched.counter.status !== "running";
    if (!danger || drawn === watched.counter.status) return;
    drawn = watched.counter.status;
    const over = drawn === "retired" || drawn === "ended";
    danger.replaceChildren(
      h("p", { class: "guarantees" }, over ? "It makes no more releases. Deleting it also deletes its releases." : "Retiring stops it for good and wipes its private state. Its releases stay."),
      over ? button("Delete…", remove, "danger") : button("Retire…", retire, "danger"));
  }
  return { quick, danger, update };
}
