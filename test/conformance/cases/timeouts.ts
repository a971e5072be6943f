// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Answer, Session } from "../harness/session.ts";

const noTime = "timeout=1ns";
const mostTries = 50;

/** Whether the clock answered. A handler of the reference that sees its deadline pass answers 504 too, in other words. */
const isByClock = (answer: Answer | undefined): boolean =>
  answer?.code === 504 && JSON.stringify(answer.body).includes("within the allotted timeout");

/**
 * Sends a request, and notes the answer. The reference lets a request and the clock race: when both are done at once, chance decides
 * whose answer goes out, and a busy machine closes the connection without one. So the request is repeated until the answer is the clock's.
 */
async function inNoTime(s: Session, path: string, { method = "GET", body, accept = "" }: Late = {}): Promise<void> {
  const races = s.server.name === "reference";
  const once = (): Promise<Answer> => s.ask(method, path, body, { quiet: true, headers: accept ? { accept } : {} });
  const attempt = (): Promise<Answer | undefined> => once().catch(() => undefined);
  let answer = races ? await attempt() : await once();
  for (let n = 1; n < mostTries && races && !isByClock(answer); n += 1) answer = await attempt();
  const { code, headers, body: text } = answer ?? (await once());
  s.note(`${method} ${path}`, { code, contentType: headers["content-type"], body: text });
}

interface Late {
  readonly method?: string;
  readonly body?: Loose;
  readonly accept?: string;
}

/** The time a client leaves for an answer. A nanosecond is never enough, whatever the server. */
export const timeoutCases: readonly Case[] = [
  scenario("requests that leave no time for an answer", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await inNoTime(s, `${core(s, "configmaps", "a")}?${noTime}`);
    await inNoTime(s, `${core(s, "configmaps")}?${noTime}&limit=1`);
    await inNoTime(s, `${core(s, "configmaps", "a")}?${noTime}`, { accept: "application/yaml" });
    await inNoTime(s, `${core(s, "configmaps")}?${noTime}`, { method: "POST", body: configMap("b") });
    await inNoTime(s, "/api?timeout=1us");
    await inNoTime(s, `/version?${noTime}`);
    await inNoTime(s, `/apis/nothing.example.org/v1/things?${noTime}`);
  }),

  scenario("requests that leave more time than there is, or none at all", async (s) => {
    for (const timeout of ["0", "0s", "-1s", "1h", "59s", "1m0.5s"]) {
      await s.get(`${core(s, "configmaps")}?labelSelector=none&timeout=${timeout}`, { part: (body) => body.kind });
    }
  }),
];
