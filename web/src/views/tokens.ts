/** Tokens: listed, created and revoked. The secret of a new token is shown once. */

import type { View } from "../app";
import { h } from "../dom";
import { moment } from "../format";
import type { Role, Token } from "../types";
import { clearProblems, field, placeProblem, select, textInput } from "../ui/field";
import { problemBox, section } from "../ui/blocks";
import { button, copyButton, onSubmit } from "../ui/button";
import { confirmDialog } from "../ui/dialog";

const ROLES: readonly (readonly [Role, string])[] = [["read", "Read: watch and download releases"], ["ingest", "Ingest: post events, advance"], ["admin", "Admin: everything"]];

export const tokensView: View = async (app, main, signal) => {
  const body = h("tbody");
  const table = h("table", { class: "data data-words tokens" }, h("caption", { class: "unseen" }, "Tokens in force"),
    h("thead", {}, h("tr", {}, ...["Name", "Role", "Created", "Expires", ""].map((title) => h("th", { attrs: { scope: "col" } }, title || h("span", { class: "unseen" }, "Revoke"))))), body);
  const made = h("div", { attrs: { role: "status" } });

  const name = field("name", "Name", textInput("", { maxlength: 100, required: true }), "Where it will be used: “shop backend”, “office screen”.");
  const role = field("role", "Role", select(ROLES));
  const expires = field("expires", "Expires", textInput("", { type: "datetime-local" }), "Leave empty for no end.");
  const fields = [name, role, expires];
  const trouble = h("div");
  const submit = h("button", { class: "button button-primary", attrs: { type: "submit" } }, "Make token");
  const form = h("form", { class: "stack narrow", attrs: { novalidate: true } }, name.element, role.element, expires.element, trouble, h("div", { class: "actions" }, submit));

  onSubmit(form, submit, async () => {
    clearProblems(fields);
    trouble.replaceChildren();
    if (name.control.value.trim() === "") return name.fail("A token needs a name, so that you know later which one to revoke.");
    const until = expires.control.value;
    const token = await app.api.createToken({ name: name.control.value.trim(), role: role.control.value as Role, ...(until ? { expires: new Date(until).toISOString() } : {}) });
    made.replaceChildren(h("div", { class: "notice" },
      h("p", {}, h("strong", {}, `This is the token “${token.name}”. `), "It is shown only once: copy it now."),
      h("pre", { class: "code secret", attrs: { tabindex: 0, "aria-label": "New token" } }, token.token),
      h("div", { class: "actions" }, copyButton("Copy token", () => token.token), button("I have it", () => made.replaceChildren()))));
    form.reset();
    await load();
  }, (cause) => placeProblem(cause, fields) || trouble.replaceChildren(problemBox(cause)));

  main.append(
    h("div", { class: "head" }, h("div", {}, h("h1", {}, "Tokens"), h("p", { class: "summary" }, "Anyone who has a token has its role. The service keeps only a hash of each."))),
    made,
    section("In force", h("div", { class: "scroll", attrs: { tabindex: 0, role: "region", "aria-label": "Tokens" } }, table)),
    section("Make one", form));

  function row(token: Token): HTMLElement {
    const revoke = button("Revoke…", () => confirmDialog({
      title: `Revoke “${token.name}”?`,
      body: [h("p", {}, "The service refuses this token from now on.")],
      action: "Revoke token",
      run: async () => {
        await app.api.revoke(token.id);
        app.announce(`The token “${token.name}” is revoked.`);
        await load();
      },
    }), "quiet");
    revoke.setAttribute("aria-label", `Revoke ${token.name}`);
    return h("tr", {}, h("th", { attrs: { scope: "row" } }, token.name), h("td", {}, token.role), h("td", {}, moment(token.created)), h("td", {}, token.expires === null ? "never" : moment(token.expires)), h("td", {}, revoke));
  }

  async function load(): Promise<void> {
    body.replaceChildren(...(await app.api.tokens(signal)).map(row));
  }
  await load();
};
