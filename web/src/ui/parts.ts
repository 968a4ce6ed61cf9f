/** Small things that several views show. */

import { h, s, setText, type Child } from "../dom";
import { margin, number, halfWidth } from "../format";
import { sentence } from "../problem";
import type { CounterStatus, Release } from "../types";

const STATUS_WORDS: Record<CounterStatus, string> = {
  running: "Running",
  fenced: "Fenced",
  retired: "Retired",
  ended: "Ended",
};

export function statusChip(status: CounterStatus): HTMLElement {
  return h("span", { class: `chip chip-${status}` }, STATUS_WORDS[status] ?? status);
}

/** A value and its 95 % margin, the margin quieter. */
export function valueWithMargin(release: Pick<Release, "value" | "lower" | "upper">): HTMLElement {
  return h("span", { class: "value" }, number(release.value), h("span", { class: "margin" }, ` ± ${margin(halfWidth(release))}`));
}

export function button(label: string, action: () => void, kind: "plain" | "primary" | "danger" | "quiet" = "plain"): HTMLButtonElement {
  return h("button", { class: `button button-${kind}`, attrs: { type: "button" }, on: { click: action } }, label);
}

/** Runs an action once at a time, with the button disabled and saying so meanwhile. */
export async function busy(target: HTMLButtonElement, action: () => Promise<void>): Promise<void> {
  if (target.getAttribute("aria-busy") === "true") return;
  target.setAttribute("aria-busy", "true");
  target.disabled = true;
  try {
    await action();
  } finally {
    target.disabled = false;
    target.removeAttribute("aria-busy");
  }
}

export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const target = button(label, () => {
    // Absent where the page is not served over TLS or from this machine.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (!clipboard) return told("Select the text and copy it");
    clipboard.writeText(text()).then(() => told("Copied"), () => told("Select the text and copy it"));
  });
  function told(message: string): void {
    setText(target, message);
    setTimeout(() => setText(target, label), 2000);
  }
  target.setAttribute("aria-live", "polite");
  return target;
}

/** A failure in words, with a way to try again. */
export function problemBox(cause: unknown, retry?: () => void): HTMLElement {
  return h("div", { class: "notice notice-bad", attrs: { role: "alert" } }, h("p", {}, sentence(cause)), retry && button("Try again", retry));
}

/** What stands where nothing is yet: says what would be here, and how to get it. */
export function emptyState(title: string, ...children: Child[]): HTMLElement {
  return h("div", { class: "empty" }, tally(), h("h2", {}, title), ...children);
}

/** Tally marks, the sign of the page. */
export function tally(): SVGSVGElement {
  return s("svg", { class: "tally", viewBox: "4 6.5 24 19", "aria-hidden": "true" },
    s("path", { d: "M8 8.5v15M13.3 8.5v15M18.7 8.5v15M24 8.5v15M5 21.5 27 10.5" }));
}

/** A section of a sheet: its title at the side, its content beside it. */
export function section(title: string, ...children: Child[]): HTMLElement {
  const heading = h("h2", {}, title);
  return h("section", { class: "section" }, heading, h("div", { class: "section-body" }, ...children));
}

/** Names and what they stand for. */
export function facts(entries: readonly (readonly [string, Child])[]): HTMLElement {
  return h("dl", { class: "facts" }, ...entries.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

/** Asks before what cannot be undone. With `typed`, the word must be typed before the button works. */
export function confirmDialog(options: { title: string; body: Child[]; action: string; typed?: string; run: () => Promise<void> }): void {
  const problem = h("div");
  const confirm = h("button", { class: "button button-danger", attrs: { type: "submit" } }, options.action);
  const input = h("input", { attrs: { id: "confirm-name", type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off" } });
  if (options.typed !== undefined) {
    confirm.disabled = true;
    input.addEventListener("input", () => (confirm.disabled = input.value !== options.typed));
  }
  const form = h("form", { class: "stack" },
    h("h2", { attrs: { id: "dialog-title" } }, options.title),
    ...options.body,
    options.typed !== undefined && h("div", { class: "field" },
      h("label", { attrs: { for: "confirm-name" } }, "Type ", h("strong", {}, options.typed), " to confirm"), input),
    problem,
    h("div", { class: "actions" }, button("Cancel", () => dialog.close()), confirm));
  const dialog = h("dialog", { attrs: { "aria-labelledby": "dialog-title" } }, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void busy(confirm, async () => {
      try {
        await options.run();
        dialog.close();
      } catch (cause) {
        problem.replaceChildren(problemBox(cause));
      }
    });
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
