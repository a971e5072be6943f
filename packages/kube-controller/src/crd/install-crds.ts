// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { isServed, type KubeClient } from "@purlin/kube-client";
import { isAlreadyExists, isConflict, isNotFound } from "@purlin/kube-objects/errors";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";
import { toTypedForm } from "@purlin/kube-objects/typed";
import { crdType, isEstablished, refusalOf } from "./crd.ts";
import { mergeCrd } from "./merge-crd.ts";

/** The progress of one CRD. */
export interface InstallProgress {
  readonly name: string;
  readonly what: "created" | "updated" | "unchanged" | "established";
  /** How many are established so far, of how many. */
  readonly established: number;
  readonly total: number;
}

/** Options of {@link installCrds}. */
interface InstallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: InstallProgress) => void) | undefined;
  /** How long a CRD may take to be established. Default: a minute. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Makes the API server serve these CRDs and waits until it does. A CRD that exists keeps every version, field, column and
 * name it has and gets what it lacks; nothing is written when it lacks nothing. Rejects with the name of the CRD that the
 * server refuses, or does not establish in time.
 */
export async function installCrds(
  client: KubeClient,
  crds: readonly KubeObject[],
  options: InstallOptions = {},
): Promise<void> {
  const { onProgress = () => {}, timeoutMs = 60_000 } = options;
  const deadline = AbortSignal.timeout(timeoutMs);
  const failed = new AbortController();
  const signal = AbortSignal.any([deadline, failed.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const total = crds.length;
  let established = 0;
  const install = async (crd: KubeObject): Promise<void> => {
    const { name } = keyOf(crd);
    const { what, stored } = await store(client, crd, signal);
    onProgress({ name, what, established, total });
    await untilEstablished(client, stored, signal);
    await untilServed(client, servedTypes(stored), signal);
    established += 1;
    onProgress({ name, what: "established", established, total });
  };
  const installOrStop = async (crd: KubeObject): Promise<void> => {
    try {
      await install(crd);
    } catch (error) {
      failed.abort(error);
      throw failureOf(crd, error, deadline.aborted);
    }
  };
  await Promise.all(crds.map(installOrStop));
}

function failureOf(crd: KubeObject, error: unknown, isLate: boolean): Error {
  const cause = error instanceof Error ? error.message : String(error);
  const text = isLate ? "the API server has not established it in time" : cause;
  return new Error(`cannot install CustomResourceDefinition "${keyOf(crd).name}": ${text}`, { cause: error });
}

interface Stored {
  readonly what: "created" | "updated" | "unchanged";
  readonly stored: KubeObject;
}

/** Another replica may be installing at the same moment: a conflict is retried. */
async function store(client: KubeClient, crd: KubeObject, signal: AbortSignal): Promise<Stored> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await createOrUpdate(client, crd, signal);
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error;
    }
  }
}

async function createOrUpdate(client: KubeClient, crd: KubeObject, signal: AbortSignal): Promise<Stored> {
  const existing = await getOrNothing(client, crd, signal);
  if (existing === undefined) return { what: "created", stored: await client.create(crd, { signal }) };
  const merged = mergeCrd(existing, crd);
  if (isSame(existing, merged)) return { what: "unchanged", stored: existing };
  return { what: "updated", stored: await client.update(merged, { signal }) };
}

/** Whether the server would store the one where the other is: what its types leave out does not count. */
function isSame(a: KubeObject, b: KubeObject): boolean {
  const asStored = (crd: KubeObject): JsonValue => toTypedForm(crd).object;
  return jsonEqual(asStored(a), asStored(b));
}

async function getOrNothing(client: KubeClient, crd: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
  try {
    return await client.get(crdType, keyOf(crd), { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Follows one CRD until it is established; the server may end a watch at any time. */
async function untilEstablished(client: KubeClient, stored: KubeObject, signal: AbortSignal): Promise<void> {
  let crd = stored;
  while (!isEstablished(crd)) {
    const refusal = refusalOf(crd);
    if (refusal !== undefined) throw new Error(refusal);
    crd = await nextVersion(client, crd, signal);
  }
}

async function nextVersion(client: KubeClient, crd: KubeObject, signal: AbortSignal): Promise<KubeObject> {
  const fieldSelector = `metadata.name=${keyOf(crd).name}`;
  const { resourceVersion } = crd.metadata;
  const events = await client.watch(crdType, { fieldSelector, resourceVersion, signal });
  for await (const event of events) {
    if (event.type === "DELETED") throw new Error("it was deleted while being installed");
    if (event.type !== "BOOKMARK") return event.object;
  }
  signal.throwIfAborted();
  return client.get(crdType, keyOf(crd), { signal });
}

type CrdSpec = {
  readonly group: string;
  readonly names: { readonly kind: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
};

function servedTypes(crd: KubeObject): TypeRef[] {
  const { group, names, versions } = crd["spec"] as CrdSpec;
  return versions
    .filter(({ served }) => served)
    .map(({ name }) => ({ apiVersion: `${group}/${name}`, kind: names.kind }));
}

const discoveryPauseMs = 50;

/** A CRD is established a moment before discovery lists its kind, and clients rely on discovery. */
async function untilServed(client: KubeClient, types: readonly TypeRef[], signal: AbortSignal): Promise<void> {
  for (const type of types) {
    while (!(await isServed(client.mapper, type, signal))) await delay(discoveryPauseMs, undefined, { signal });
  }
}
