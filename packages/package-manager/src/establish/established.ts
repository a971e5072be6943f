// SPDX-License-Identifier: Apache-2.0

import { type JsonValue, printJson } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { digestOf } from "@purlin/oci";
import { createMemory } from "../fetch/memory.ts";

/** A stored object, and as a revision would write it. */
interface Attempted {
  readonly revision: KubeObject;
  readonly existing: KubeObject;
  /** The fields that the write sets. */
  readonly wanted: JsonValue;
}

/** Writes that were found to change nothing, so that they are not sent again. */
export interface Established {
  /** Whether this write was found to change nothing in this state of the object. */
  knows(attempted: Attempted): boolean;
  remember(attempted: Attempted): void;
}

/** Objects that are remembered, each with two digests' worth of text. */
const maxObjects = 20_000;

/** Remembers for as long as the process runs: a new process writes once. */
export function createEstablished(): Established {
  const proofs = createMemory<string>(maxObjects);
  return {
    knows: (attempted) => proofs.get(keyOf(attempted)) === proofOf(attempted),
    remember: (attempted) => proofs.set(keyOf(attempted), proofOf(attempted)),
  };
}

function keyOf({ revision, existing: { apiVersion, kind, metadata } }: Attempted): string {
  return `${revision.metadata.uid} ${apiVersion} ${kind} ${metadata.name}`;
}

/** Changes with every write to the object, with its owners and with the wanted state. */
function proofOf({ existing: { metadata }, wanted }: Attempted): string {
  return digestOf(printJson([metadata.uid, metadata.resourceVersion, wanted]));
}
