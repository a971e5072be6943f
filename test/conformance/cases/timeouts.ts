// SPDX-License-Identifier: Apache-2.0
import { beyond, type Case } from "../harness/case.ts";
import { configMap, core } from "../harness/fixtures.ts";

const nobodysTime = "timeout=1ns";

/** The time a client leaves for an answer. A nanosecond is never enough, whatever the server. */
export const timeoutCases: readonly Case[] = [
  beyond("requests that leave no time for an answer", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await s.get(`${core(s, "configmaps", "a")}?${nobodysTime}`);
    await s.get(`${core(s, "configmaps")}?${nobodysTime}&limit=1`);
    await s.get(`${core(s, "configmaps", "a")}?${nobodysTime}`, { headers: { accept: "application/yaml" } });
    await s.post(`${core(s, "configmaps")}?${nobodysTime}`, configMap("b"));
    await s.get("/api?timeout=1us");
    await s.get(`/version?${nobodysTime}`);
    await s.get(`/apis/nothing.example.org/v1/things?${nobodysTime}`);
  }),

  beyond("requests that leave more time than there is, or none at all", async (s) => {
    for (const timeout of ["0", "0s", "-1s", "1h", "59s", "1m0.5s"]) {
      await s.get(`${core(s, "configmaps")}?labelSelector=none&timeout=${timeout}`, { part: (body) => body.kind });
    }
  }),
];
