// SPDX-License-Identifier: Apache-2.0
// A client of its own: its own thread, event loop and connection. Requests a cheap path again and again, and reports the longest time
// between two responses.
import * as http from "node:http";
import * as https from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { PingOptions, PingReport } from "./ping.ts";

const { target, path, everyMs } = workerData as Required<PingOptions>;
const { Agent, request } = target.server.startsWith("https:") ? https : http;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let report: PingReport = { pings: 0, longestGapMs: 0, failures: [] };
let stopping = false;

function ping(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { server, caPem: ca, certPem: cert, keyPem: key } = target;
  const outgoing = request(`${server}${path}`, { agent, ca, cert, key }, (response) => {
    response.resume().once("end", () => resolve(response.statusCode ?? 0));
  });
  outgoing.once("error", reject);
  outgoing.end();
  return promise;
}

async function pingOnce(): Promise<void> {
  const sent = performance.now();
  let failure: string | undefined;
  try {
    const code = await ping();
    if (code !== 200) failure = `status ${code}`;
  } catch (error) {
    failure = String(error);
  }
  const gap = performance.now() - sent;
  report = {
    pings: report.pings + 1,
    longestGapMs: Math.max(report.longestGapMs, gap),
    failures: failure === undefined ? report.failures : [...report.failures.slice(0, 9), failure],
  };
}

parentPort?.on("message", (message: "take" | "stop") => {
  parentPort?.postMessage(report);
  report = { pings: 0, longestGapMs: 0, failures: [] };
  if (message === "stop") {
    stopping = true;
    agent.destroy();
    parentPort?.close();
  }
});

await pingOnce();
report = { pings: 0, longestGapMs: 0, failures: [] };
parentPort?.postMessage("ready");
while (!stopping) {
  await pingOnce();
  await delay(everyMs);
}
