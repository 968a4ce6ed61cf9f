/** The dialog that asks before an action that cannot be undone. */

import { h, type Child } from "../dom";
import { problemBox } from "./blocks";
import { button, onSubmit } from "./button";

/** Asks for confirmation. With `typed`, the button works only after the word is typed. */
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
  onSubmit(form, confirm, async () => {
    await options.run();
    dialog.close();
  }, (cause) => problem.replaceChildren(problemBox(cause)));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
