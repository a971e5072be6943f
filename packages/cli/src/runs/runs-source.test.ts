// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeClient } from "@purlin/kube-client";
import { forbidden, notFound, serviceUnavailable } from "@purlin/kube-objects/errors";
import { recorderWaits, runsPath } from "@purlin/run-store";
import { createRunsAsker } from "./runs-source.ts";

const proxy = "/api/v1/namespaces/crossplane-system/services/purlin-runs:runs/proxy";
const missing = notFound({ group: "", resource: "x" }, "y");
const { signal } = new AbortController();

type Answer = (path: string, attempt: number) => unknown;

/** An asker whose requests are answered by a function, with the paths that were asked for. */
function asker(
  answer: Answer,
  service?: string,
): { readonly asked: string[]; readonly ask: ReturnType<typeof createRunsAsker> } {
  const asked: string[] = [];
  const raw = async ({ path }: { readonly path: string }): Promise<unknown> => {
    asked.push(path);
    const found = answer(path, asked.length);
    if (found instanceof Error) throw found;
    return found;
  };
  return { asked, ask: createRunsAsker({ raw } as unknown as KubeClient, { signal, service }) };
}

test("the API server itself is tried first, and stays the source", async () => {
  const { asked, ask } = asker(() => "answer");
  assert.equal(await ask(runsPath), "answer");
  await ask(`${runsPath}/a`, { limit: "1" });
  assert.deepEqual(asked, [runsPath, `${runsPath}/a`]);
});

test("where the path is unknown or forbidden, the Service is used, from then on alone", async () => {
  for (const refusal of [missing, forbidden({ group: "", resource: "x" }, "y", "no")]) {
    const { asked, ask } = asker((path) => (path.startsWith(proxy) ? "answer" : refusal));
    assert.equal(await ask(runsPath), "answer");
    await ask(runsPath);
    assert.deepEqual(asked, [runsPath, `${proxy}${runsPath}`, `${proxy}${runsPath}`]);
  }
});

test("a run that is unknown to a server that serves runs is not looked for elsewhere", async () => {
  const { asked, ask } = asker((path) => (path === runsPath ? { items: [] } : missing));
  await assert.rejects(ask(`${runsPath}/a`), (error) => error === missing);
  assert.deepEqual(asked, [`${runsPath}/a`, runsPath]);
});

test("other errors are not a reason to ask elsewhere", async () => {
  const down = serviceUnavailable("down");
  const { asked, ask } = asker(() => down);
  await assert.rejects(ask(runsPath), (error) => error === down);
  assert.equal(asked.length, 1);
});

test("a request to a replica that does not lead is repeated, at most twenty times", async () => {
  const waits = serviceUnavailable(recorderWaits);
  const leads = asker((path, attempt) => (path === runsPath ? missing : attempt < 5 ? waits : "answer"));
  assert.equal(await leads.ask(runsPath), "answer");
  assert.equal(leads.asked.length, 5);
  const never = asker((path) => (path === runsPath ? missing : waits));
  await assert.rejects(never.ask(runsPath), (error) => error === waits);
  assert.equal(never.asked.length, 21);
});

test("the Service may be another one, with or without its namespace and port", async () => {
  const pathOf = async (service: string): Promise<string | undefined> => {
    const { asked, ask } = asker((path) => (path === runsPath ? missing : "answer"), service);
    await ask(runsPath);
    return asked[1]?.slice("/api/v1/namespaces/".length, -`/proxy${runsPath}`.length);
  };
  assert.equal(await pathOf("mine"), "crossplane-system/services/mine:runs");
  assert.equal(await pathOf("team/mine:8080"), "team/services/mine:8080");
  for (const service of ["", "a/b/c", "a:b:c", "A", "../x"]) {
    assert.throws(() => asker(() => "", service), {
      message: `--recorder-service: expected [NAMESPACE/]NAME[:PORT], not "${service}"`,
      exitCode: 2,
    });
  }
});
