// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { createHttpsTransport, createKubeClient, fixedCredentials, type KubeClient } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Access } from "../apiserver/access.ts";
import { composition, definition, isReady, pair } from "./manifests.ts";

/** A user of an API server. */
export function userOf({ server, caPem, certPem, keyPem }: Access): KubeClient {
  const credentials = fixedCredentials({ certPem, keyPem });
  return createKubeClient(createHttpsTransport({ server, caPem, credentials }, { userAgent: "bench" }));
}

const patienceMs = 120_000;

/** Defines the composite resources and how they are composed, and waits until one has become Ready. */
export async function definePairs(users: KubeClient): Promise<void> {
  await users.create(definition);
  await users.create(composition(60));
  await eventually("the kind Pair is served", () => users.create(pair("first")));
  await eventually("the first Pair is Ready", async () => isReady(await users.get(pair(""), keyOfFirst)) || undefined);
}

const keyOfFirst = { name: "first", namespace: "default" };

/** Creates a revision with its status, as a package manager would. Ours says meanwhile that it leaves it alone. */
export async function serveAt(users: KubeClient, revision: KubeObject): Promise<void> {
  await users.create(revision);
  await eventually("the revision says where it serves", async () => {
    const { metadata } = await users.get(revision, { name: revision.metadata.name ?? "" });
    return users.update({ ...revision, metadata }, { subresource: "status" });
  });
}

/** Removes the TTL of function responses. Not by apply, which would leave the TTL of the field manager that created it. */
export async function removeTtl(users: KubeClient): Promise<void> {
  const wanted = composition(undefined);
  const { metadata } = await users.get(wanted, { name: wanted.metadata.name ?? "" });
  await users.update({ ...wanted, metadata });
}

async function eventually(what: string, look: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  let failure: unknown;
  for (;;) {
    try {
      if ((await look()) !== undefined) return;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`, { cause: failure });
    await delay(50);
  }
}
