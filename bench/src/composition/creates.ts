// SPDX-License-Identifier: Apache-2.0
import type { Access } from "../apiserver/access.ts";
import { startPair } from "../apiserver/contenders.ts";
import { startLoader } from "../apiserver/load.ts";

const clients = 16;

/** ConfigMap creates a second that a kube-apiserver answers 16 clients, each on its own connection. */
export async function createsPerSecond(access: Access, count: number): Promise<number> {
  await using load = startLoader(access);
  await load.do({ job: "create", kind: "ConfigMap", prefix: "warm", count, clients });
  const [seconds = 0] = await load.do({ job: "create", kind: "ConfigMap", prefix: "measured", count, clients });
  return count / seconds;
}

/** The same of one started for this alone. */
export async function createsOfPair(count: number): Promise<number> {
  await using cluster = await startPair();
  return await createsPerSecond(cluster.access, count);
}
