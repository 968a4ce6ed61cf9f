// The page in a real browser, with real clicks and keys. Runs against the mock, or against the service at
// EVERTALLY_URL with the admin token EVERTALLY_TOKEN, where it creates what it needs under its own names.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audit, launch, missing, visit } from "./browser.mjs";
import { call, startService } from "./service.mjs";

if (missing) console.warn(`page tests are skipped: ${missing}`);

const tag = `t${Date.now().toString(36)}`;
const PEOPLE = `${tag}-people`;
const TICKING = `${tag}.ticking`;
const KEYED = `${tag}-keyed`;

describe.skipIf(missing)("the page", () => {
  let browser;
  let service;
  let readToken;

  beforeAll(async () => {
    service = await startService();
    browser = await launch();
    await call(service, "POST", "populations", { name: PEOPLE, epsilon: 8, delta: 1e-6 });
    await call(service, "POST", "counters", { name: TICKING, description: "Ticks every second", population: PEOPLE, every: "1s", steps: 100_000, epsilon: 0.5, delta: 1e-6 });
    await call(service, "POST", "counters", { name: KEYED, population: PEOPLE, every: "1s", steps: 100_000, epsilon: 0.5, delta: 1e-6, keys: ["a", "b"] });
    readToken = (await call(service, "POST", "tokens", { name: `${tag} screen`, role: "read" })).token;
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  const open = (options = {}) => visit(browser, service.url, { token: service.admin, ...options });
  const counter = (name) => `#/counters/${encodeURIComponent(name)}`;

  test("a token in the address signs in, and leaves the address at once", async () => {
    const { page, end } = await open();
    await page.getByRole("heading", { level: 1, name: "Counters" }).waitFor();
    expect(page.url()).not.toContain("token");
    expect(await page.evaluate(() => [sessionStorage.length, JSON.stringify({ ...localStorage }), document.cookie])).toEqual([1, "{}", ""]);
    expect(await page.evaluate(() => document.documentElement.outerHTML.includes("evt_"))).toBe(false);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You have signed out").waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    await end();
  });

  test("the form signs in by keyboard alone, and says when a token is refused", async () => {
    const { page, end, shot } = await visit(browser, service.url, { refusals: true });
    await page.keyboard.type("evt_nonsense");
    await page.keyboard.press("Enter");
    await page.getByText("does not know this token").waitFor();
    await shot("sign-in");
    expect(await audit(page)).toEqual([]);
    await page.keyboard.press("Control+A");
    await page.keyboard.type(service.admin);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Counters" }).waitFor();
    await end();
  });

  test("a token that is revoked while the page is open ends the session with a reason", async () => {
    const made = await call(service, "POST", "tokens", { name: `${tag} short`, role: "read" });
    const { page, end } = await open({ token: made.token, refusals: true });
    await page.getByRole("heading", { level: 1, name: "Counters" }).waitFor();
    await call(service, "DELETE", `tokens/${made.id}`);
    // Whichever request comes first is refused, this one at the latest.
    await page.evaluate(() => (location.hash = "#/budget"));
    await page.getByText("The token was refused").waitFor();
    await end();
  });

  test("counters at a glance: values, search, order", async () => {
    const { page, end, shot } = await open();
    const row = page.getByRole("row").filter({ hasText: TICKING });
    await page.getByRole("searchbox").fill(tag);
    await expect.poll(() => page.getByRole("row").count()).toBe(3);
    await expect.poll(() => row.locator(".c-value").innerText()).toMatch(/± \d/);
    await row.locator(".spark path").first().waitFor();
    await page.getByLabel("Order").last().selectOption("newest");
    await expect.poll(() => page.getByRole("row").nth(1).innerText()).toContain(KEYED);
    await page.getByRole("searchbox").fill("no such counter");
    await page.getByText("No counter matches").waitFor();
    await page.getByRole("searchbox").fill("");
    await page.getByLabel("Order").last().selectOption("name");
    await row.waitFor();
    expect(await audit(page)).toEqual([]);
    await page.waitForTimeout(600);
    await shot("overview-light");
    await end();
  });

  test("the value of a counter changes live, and the chart reads out by keyboard", async () => {
    const { page, end, shot } = await open({ hash: counter(TICKING) });
    await page.locator(".connection-live").waitFor();
    const released = async () => Number((await page.locator(".reading").innerText()).match(/Step ([\d,]+)/)[1].replaceAll(",", ""));
    await expect.poll(() => page.locator(".reading").innerText()).toMatch(/Step/);
    const before = await released();
    await expect.poll(released, { timeout: 8000 }).toBeGreaterThan(before + 1);
    expect(await page.locator(".promise").innerText()).toMatch(/With probability 95 %, the true total is within ± [\d.,]+ of what is shown\./);
    await page.locator(".curve").focus();
    await page.keyboard.press("Home");
    await expect.poll(released).toBe(0);
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Shift+ArrowRight");
    await page.locator(".sum-result .figure").waitFor();
    expect(await page.locator(".sum-result").innerText()).toContain("Steps 0 to 2");
    await page.getByText("Show the table").click();
    await page.getByRole("region", { name: "Table of releases" }).getByRole("row").nth(2).waitFor();
    expect(await audit(page)).toEqual([]);
    await shot("counter-light");
    await end();
  });

  test("an interval is measured with the mouse", async () => {
    const { page, end } = await open({ hash: counter(TICKING) });
    // The newest release may come before the others, and one point has no interval.
    await expect.poll(() => page.locator(".curve").getAttribute("aria-label")).toMatch(/ ([3-9]|\d\d+) points\./);
    const box = await page.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + 5, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 60, { steps: 6 });
    await page.mouse.up();
    await page.locator(".sum-result .figure").waitFor();
    expect(await page.locator(".sum-result").innerText()).toContain("With probability 95 %");
    expect(await page.locator(".curve-hint").innerText()).toMatch(/^Marked: \S+ ± [\d.,]+ in steps \d+ to \d+\.$/);
    await end();
  });

  test("keys are small multiples, of which one is chosen", async () => {
    const { page, end, shot } = await open({ hash: counter(KEYED), dark: true });
    await page.locator(".tile").nth(2).waitFor();
    expect(await page.locator(".tile").count()).toBe(3);
    await page.locator('.tile[data-key="b"]').click();
    await expect.poll(() => page.locator(".promise").innerText()).toContain("“b”");
    expect(await page.locator('.tile[data-key="b"]').getAttribute("aria-pressed")).toBe("true");
    await page.locator(".connection-live").waitFor();
    expect(await audit(page)).toEqual([]);
    await shot("counter-dark");
    await end();
  });

  test("releases are downloaded", async () => {
    const { page, end } = await open({ hash: counter(TICKING) });
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
    expect(download.suggestedFilename()).toBe(`${TICKING}.csv`);
    await end();
  });

  test("a counter is created, with a preview and mistakes beside their fields; advanced, retired, deleted", async () => {
    const name = `${tag}-made`;
    const { page, end, shot } = await open({ refusals: true });
    await page.getByRole("link", { name: "New counter" }).click();
    await page.getByRole("heading", { level: 1, name: "New counter" }).waitFor();
    await page.getByLabel("Population", { exact: true }).selectOption(PEOPLE);
    const figure = page.locator(".preview .figure");
    await figure.waitFor();
    await expect.poll(() => page.locator(".preview").getAttribute("class")).not.toContain("old");
    const loose = await figure.innerText();
    await page.getByLabel("ε", { exact: true }).fill("2");
    await expect.poll(() => figure.innerText()).not.toBe(loose);
    await page.getByText(`Budget of ${PEOPLE}`).waitFor();
    await page.waitForTimeout(300);
    expect(await audit(page)).toEqual([]);
    await shot("create-light");

    await page.getByRole("button", { name: "Create counter" }).click();
    await page.getByText("A counter needs a name.").waitFor();
    expect(await page.evaluate(() => document.activeElement.name)).toBe("name");
    await page.keyboard.type(TICKING);
    await page.getByRole("button", { name: "Create counter" }).click();
    await expect.poll(() => page.locator(".field").filter({ has: page.locator("input[name=name]") }).first().locator(".field-error").innerText()).not.toBe("");
    await page.getByLabel("ε", { exact: true }).fill("nothing");
    await page.getByText("A number is needed").waitFor();
    await page.getByLabel("ε", { exact: true }).fill("1000");
    await expect.poll(() => page.locator(".create").innerText(), { timeout: 8000 }).toMatch(/epsilon|has not enough left/i);
    await shot("create-mistakes");
    await page.getByLabel("ε", { exact: true }).fill("0.5");
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Releases").selectOption("");
    await page.getByRole("button", { name: "Create counter" }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();

    await page.getByText("No release yet").waitFor();
    await page.getByRole("button", { name: "Advance one step" }).click();
    await expect.poll(() => page.locator(".hero .figure").innerText()).toMatch(/±/);
    await page.getByRole("button", { name: "Retire…" }).click();
    const confirm = page.getByRole("button", { name: "Retire counter" });
    expect(await confirm.isDisabled()).toBe(true);
    await page.keyboard.type(name);
    await shot("retire-dialog");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator(".chip-retired").waitFor();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.keyboard.type(name);
    await page.getByRole("button", { name: "Delete counter" }).click();
    await page.getByRole("heading", { level: 1, name: "Counters" }).waitFor();
    await end();
  });

  test("a population is made in place with its first counter", async () => {
    const { page, end } = await open({ hash: "#/new" });
    await page.getByLabel("Population", { exact: true }).selectOption({ label: "New population…" });
    await page.getByLabel("Name of the population").fill(`${tag}-new`);
    await page.getByLabel("Name", { exact: true }).fill(`${tag}-first`);
    await page.getByRole("button", { name: "Create counter" }).click();
    await page.getByRole("heading", { level: 1, name: `${tag}-first` }).waitFor();
    await page.getByRole("link", { name: "Budget", exact: true }).click();
    await page.getByRole("heading", { level: 2, name: `${tag}-new` }).waitFor();
    await end();
  });

  test("budget by population", async () => {
    const { page, end, shot } = await open({ hash: "#/budget" });
    const section = page.locator(".section").filter({ has: page.getByRole("heading", { name: PEOPLE }) });
    await section.getByRole("img", { name: /% spent/ }).waitFor();
    await section.getByRole("link", { name: TICKING }).waitFor({ state: "attached" });
    expect(await audit(page)).toEqual([]);
    await shot("budget-light");
    await end();
  });

  test("a token is made, shown once, and revoked", async () => {
    const { page, end, shot } = await open({ hash: "#/tokens" });
    await page.getByRole("button", { name: "Make token" }).click();
    await page.getByText("A token needs a name").waitFor();
    await page.getByLabel("Name", { exact: true }).fill(`${tag} made`);
    await page.getByRole("button", { name: "Make token" }).click();
    expect(await page.locator(".secret").innerText()).toMatch(/^evt_/);
    expect(await audit(page)).toEqual([]);
    await page.getByRole("button", { name: "I have it" }).click();
    expect(await page.evaluate(() => document.body.innerText.includes("evt_"))).toBe(false);
    await page.getByRole("button", { name: `Revoke ${tag} made` }).click();
    await page.getByRole("button", { name: "Revoke token" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => page.getByRole("button", { name: `Revoke ${tag} made` }).count()).toBe(0);
    await shot("tokens-light");
    await end();
  });

  test("a read token sees no control that it may not use", async () => {
    const { page, end } = await open({ token: readToken });
    await page.getByRole("row").nth(1).waitFor();
    expect(await page.getByRole("link", { name: "New counter" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Tokens" }).count()).toBe(0);
    await page.evaluate((to) => (location.hash = to), counter(TICKING));
    await page.locator(".connection-live").waitFor();
    expect(await page.getByRole("button", { name: /Retire|Delete|Advance/ }).count()).toBe(0);
    await page.evaluate(() => (location.hash = "#/tokens"));
    await page.getByText("There is nothing here").waitFor();
    await end();
  });

  test.each([["overview", "#/"], ["counter", counter(KEYED)], ["create", "#/new"], ["budget", "#/budget"], ["tokens", "#/tokens"]])("%s fits a phone, in light and dark", async (name, hash) => {
    for (const dark of [false, true]) {
      const { page, end, shot } = await open({ hash, width: 360, height: 740, dark });
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForTimeout(500);
      expect(await audit(page)).toEqual([]);
      await shot(`${name}-phone${dark ? "-dark" : ""}`);
      await end();
    }
  });

  test("with the keyboard alone: skip, go to a counter, back, theme", async () => {
    const { page, end } = await open();
    await page.getByRole("row").nth(1).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement.textContent)).toBe("Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement.id)).toBe("main");
    for (let presses = 0; presses < 12; presses += 1) {
      await page.keyboard.press("Tab");
      const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      expect(ring).toBe("solid");
      if (await page.evaluate(() => document.activeElement.closest("tr") !== null)) break;
    }
    const name = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name }).waitFor();
    expect(await page.evaluate(() => document.activeElement.id)).toBe("main");
    const theme = page.getByRole("button", { name: /Theme/ });
    await theme.focus();
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    expect(await ground()).not.toBe(light);
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
    await end();
  });
});
