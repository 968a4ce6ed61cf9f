/** The sign-in form. */

import { h, setText } from "../dom";
import { asProblem, sentence } from "../problem";
import { themeButton } from "../shell";
import { tally } from "../ui/blocks";
import { button, onSubmit } from "../ui/button";

export function signIn(root: HTMLElement, message: string | null, connect: (token: string) => Promise<void>, retry?: () => void): void {
  document.title = "Sign in · Evertally";
  const told = h("p", { class: "door-message", attrs: { role: "alert", id: "door-message" } }, message ?? "");
  const input = h("input", { attrs: {
    id: "token", type: "password", autocomplete: "off", spellcheck: "false", placeholder: "evt_…", "aria-describedby": "door-message token-hint", required: true,
  } });
  const submit = h("button", { class: "button button-primary", attrs: { type: "submit" } }, "Sign in");
  const form = h("form", { class: "stack" },
    h("div", { class: "field" }, h("label", { attrs: { for: "token" } }, "Token"), input,
      h("p", { class: "hint", attrs: { id: "token-hint" } }, "It is kept in this tab until you close it, and nowhere else.")),
    h("div", { class: "actions" }, submit, retry && button("Try again", retry)));

  onSubmit(form, submit, async () => {
    const token = input.value.trim();
    if (token !== "") await connect(token);
  }, (cause) => {
    input.setAttribute("aria-invalid", "true");
    setText(told, asProblem(cause).status === 401 ? "The service does not know this token, or it has expired. Check that you copied all of it." : sentence(cause));
    input.focus();
  });

  root.replaceChildren(
    h("div", { class: "door" },
      h("main", { class: "door-card", attrs: { id: "main" } },
        h("h1", { class: "brand brand-large" }, tally(), "Evertally"),
        h("p", { class: "lead" }, "Live counts that protect the people who are counted, each with its error."),
        told, form,
        h("details", {}, h("summary", {}, "Where do I get a token?"),
          h("p", {}, "The service prints an admin token once, when it starts for the first time. An administrator creates more on the page “Tokens”."))),
      h("div", { class: "door-foot" }, themeButton())));
  input.focus();
}
