// SPDX-License-Identifier: Apache-2.0
// The function of the rollout suites: its composed resources name the build that ran. Its image sets VERSION.
import { setTimeout as delay } from "node:timers/promises";
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";

const version = process.env["VERSION"] ?? "";

if (process.env["MODE"] === "exit") {
  process.stderr.write("this build cannot start\n");
  process.exit(3);
}

/** As long as an upgrade takes to reach the old revision, and then some: calls are on their way when it ends. */
const longestMs = 1_500;
const isAbrupt = process.env["MODE"] === "abrupt";
if (isAbrupt) process.on("SIGTERM", () => process.exit(0));

const isLeaking = process.env["MODE"] === "leak";
const leaked: Buffer[] = [];
/** In each call: the limit that the suite sets is reached after a few. */
const leakBytes = 48 * 2 ** 20;

export default async function reportVersion(req: RunFunctionRequest): Promise<RunFunctionResponse> {
  if (isAbrupt) await delay(Math.random() * longestMs);
  if (isLeaking) leaked.push(Buffer.alloc(leakBytes, 1));
  const rsp = response.to(req);
  // Resources composed by a cluster-scoped composite resource need a namespace.
  const namespace = request.getObservedCompositeResource(req).resource.getString("metadata.namespace", "default");
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace }, data: { version } };
  response.setDesiredComposedResource(rsp, "map", map, { ready: true });
  return rsp;
}
