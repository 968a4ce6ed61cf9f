// The page when things go wrong or are unusual. These scenes can only be staged with the mock.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audit, launch, missing, visit } from "./browser.mjs";
import { startMock } from "./mock.mjs";

describe.skipIf(missing)("the page in trouble", () => {
  let browser;
  beforeAll(async () => (browser = await launch()));
  afterAll(() => browser?.close());

  async function stage(scene, act) {
    const mock = await startMock({ scene });
    try {
      await act(mock);
    } finally {
      await mock.close();
    }
  }

  test("a lost connection is shown, and nothing is missing after it", () => stage("few", async (mock) => {
    const { page, end } = await visit(browser, mock.url, { token: mock.world.admin, hash: "#/counters/visits", refusals: true });
    await page.locator(".connection-live").waitFor();
    const before = mock.world.counter("visits").next_step;
    mock.drop();
    await page.getByText("Connection lost, trying again").waitFor();
    await page.getByRole("button", { name: "Try now" }).click();
    await page.locator(".connection-live").waitFor();
    await page.getByText("Show the table").click();
    await expect.poll(async () => (await page.locator(".data tbody th").allInnerTexts()).map((text) => Number(text.replaceAll(",", ""))), { timeout: 8000 })
      .toEqual(expect.arrayContaining([before, before + 1]));
    await end();
  }));

  test("a fenced service explains itself, and a new epoch is started with its cost in sight", () => stage("few", async (mock) => {
    mock.world.setMode("fenced", "the store is behind what was released");
    // One population cannot pay a second time.
    mock.world.population("patients").entries.push({ counter: "admissions", epoch: 0, rho: mock.world.showPopulation("patients").left.rho });
    const { page, end, shot } = await visit(browser, mock.url, { token: mock.world.admin });
    await page.getByText("the service is fenced").waitFor();
    await page.waitForTimeout(600);
    expect(await audit(page)).toEqual([]);
    await shot("fenced-light");
    await page.getByRole("link", { name: "See what a new epoch costs" }).click();
    await page.getByRole("heading", { level: 1, name: "New epoch", exact: true }).waitFor();
    await page.getByRole("row").filter({ hasText: "visits" }).waitFor();
    expect(await audit(page)).toEqual([]);
    await shot("fenced-epoch");
    await page.getByRole("button", { name: "Start a new epoch…" }).click();
    await page.getByRole("button", { name: "Start the epoch" }).click();
    await page.getByText("Epoch 1 has begun.").waitFor();
    await expect.poll(() => page.getByText("the service is fenced").count()).toBe(0);
    await page.getByText("admissions stays stopped").waitFor();
    await page.getByRole("link", { name: "See what it would cost" }).click();
    await page.getByText("left out of the last epoch and stay stopped").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1);
    expect(await audit(page)).toEqual([]);
    await page.evaluate(() => (location.hash = "#/counters/admissions"));
    await page.getByText("Releases are stopped").waitFor();
    expect(mock.world.mode).toBe("running");
    await end();
  }));

  test("who may not start an epoch is told who may", () => stage("few", async (mock) => {
    mock.world.setMode("fenced");
    const { page, end } = await visit(browser, mock.url, { token: mock.world.read });
    await page.getByText("An administrator can start a new epoch.").waitFor();
    expect(await page.getByRole("link", { name: /epoch/ }).count()).toBe(0);
    await end();
  }));

  test("a read-only service explains itself", () => stage("few", async (mock) => {
    mock.world.setMode("read-only", "a write did not reach the disk");
    const { page, end, shot } = await visit(browser, mock.url, { token: mock.world.admin, refusals: true });
    await page.getByText("The service is read-only.").waitFor();
    await shot("read-only");
    await end();
  }));

  test("nothing yet: the page teaches", () => stage("none", async (mock) => {
    const { page, end, shot } = await visit(browser, mock.url, { token: mock.world.admin });
    await page.getByRole("heading", { name: "No counters yet" }).waitFor();
    expect(await audit(page)).toEqual([]);
    await shot("empty-light");
    await page.getByRole("link", { name: "Create the first counter" }).click();
    await page.getByLabel("Name of the population").waitFor();
    await page.waitForTimeout(500);
    await shot("empty-create");
    await page.getByLabel("Name", { exact: true }).fill("first");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "first" }).waitFor();
    await page.getByText("The curve begins with the first release.").waitFor();
    await end();
  }));

  test("ten thousand counters: one page of rows, and a search over all", () => stage("many", async (mock) => {
    const { page, end, shot } = await visit(browser, mock.url, { token: mock.world.admin });
    await page.getByText("1 to 100 of 10,000 counters").waitFor();
    expect(await page.locator(".counter-list tbody tr").count()).toBe(100);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("101 to 200 of 10,000 counters").waitFor();
    await page.getByRole("link", { name: "branch-00100" }).waitFor();
    await page.getByRole("searchbox").fill("branch-0999");
    await page.getByRole("link", { name: "branch-09990" }).waitFor({ timeout: 20_000 });
    expect(await page.locator(".counter-list tbody tr").count()).toBe(10);
    await shot("many");
    await end();
  }));

  test("a token that only posts events is told so", () => stage("few", async (mock) => {
    const { page, end, shot } = await visit(browser, mock.url, { token: mock.world.ingest });
    await page.getByText("This token posts events").waitFor();
    await shot("ingest");
    await end();
  }));

  test("a service that stops answering is said to, and is found again", () => stage("few", async (mock) => {
    const { page, end } = await visit(browser, mock.url, { token: mock.world.admin, refusals: true });
    await page.getByRole("row").nth(1).waitFor();
    // The page asks when it is looked at again, which is sooner than its next turn.
    const look = () => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await page.route("**/v1/**", (route) => route.abort());
    await look();
    await page.getByText("The service does not answer.").waitFor();
    await page.unroute("**/v1/**");
    await look();
    await page.getByText("The service does not answer.").waitFor({ state: "hidden" });
    await end();
  }));

  test("the checker finds faults that are planted", () => stage("few", async (mock) => {
    const { page, end } = await visit(browser, mock.url, { token: mock.world.admin });
    await page.getByRole("row").nth(1).waitFor();
    expect(await audit(page)).toEqual([]);
    await page.evaluate(() => {
      const planted = document.createElement("div");
      planted.innerHTML = '<input id="search"><svg></svg><h1>Twice</h1><table><tr><td>1</td></tr></table><button aria-describedby="nobody"></button>';
      planted.style.cssText = "width: 3000px; color: #888; background: #999";
      document.querySelector("main").append(planted);
    });
    const faults = (await audit(page)).join("\n");
    for (const fault of ["no name", "svg is read out", "describes nothing", "table without headers", "id twice: search", "2 first headings", "wider than the window", "contrast 1."]) expect(faults).toContain(fault);
    await end();
  }));

  test("what the service sends is never markup", () => stage("none", async (mock) => {
    mock.world.createPopulation({ name: "everyone", epsilon: 2, delta: 1e-6 });
    mock.world.createCounter({ name: "x", description: "<img src=x onerror=alert(1)>", every: null, epsilon: 1, delta: 1e-6, keys: ["<b>bold</b>"] }, 5);
    const { page, end } = await visit(browser, mock.url, { token: mock.world.admin, hash: "#/counters/x" });
    await page.getByText("<img src=x onerror=alert(1)>").waitFor();
    await page.locator(".tile-key", { hasText: "<b>bold</b>" }).waitFor();
    expect(await page.locator("main img, main b").count()).toBe(0);
    await end();
  }));
});
