/** Buttons: plain, busy while their action runs, submitting a form, and copying to the clipboard. */

import { h, setText } from "../dom";

export function button(label: string, action: () => void, kind: "plain" | "primary" | "danger" | "quiet" = "plain"): HTMLButtonElement {
  return h("button", { class: `button button-${kind}`, attrs: { type: "button" }, on: { click: action } }, label);
}

/** Runs an action. The button is disabled and marked as busy until the action ends. */
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

/** Runs an action when the form is submitted, with its button busy. A failure goes to `fail`. */
export function onSubmit(form: HTMLFormElement, submit: HTMLButtonElement, action: () => Promise<void>, fail: (cause: unknown) => void): void {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void busy(submit, () => action().catch(fail));
  });
}

export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const target = button(label, () => {
    // Browsers offer no clipboard to pages that come without TLS from another machine.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (!clipboard) return confirm("Select the text and copy it");
    clipboard.writeText(text()).then(() => confirm("Copied"), () => confirm("Select the text and copy it"));
  });
  function confirm(message: string): void {
    setText(target, message);
    setTimeout(() => setText(target, label), 2000);
  }
  target.setAttribute("aria-live", "polite");
  return target;
}
