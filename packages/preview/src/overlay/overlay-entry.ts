// SPDX-License-Identifier: Apache-2.0
import { createHash, randomUUID } from "node:crypto";
import { findStatusError, isInvalid, textOf } from "@purlin/kube-objects/errors";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

/** Why a write was not judged by the live API server. */
export type Approximation =
  /** The object was changed before in this preview. */
  | "changed-before"
  /** The kind, or its schema, exists only in this preview. */
  | "new-kind"
  /** The namespace exists only in this preview. */
  | "new-namespace"
  /** A webhook has side effects and refuses dry runs. */
  | "no-dry-run"
  /** The user may not send the request that the controller sends. */
  | "forbidden"
  /** The user may not read ResourceQuotas, which are counted over the whole plan. */
  | "quota-unread"
  /** Neither server knows the schema of the kind here. */
  | "no-schema";

/** The manager of writes that only a preview makes, such as where a function runs: no control plane ever sends them. */
export const previewManager = "purlin-diff";

/**
 * The manager of the writes that decide where functions run in a preview. No user of a control plane can have written under this name:
 * what it owns runs programs of this machine and sends calls elsewhere.
 */
export const functionManager: string = `${previewManager}-${randomUUID()}`;

/** The writer: a controller that reconciles a key in a round, or the change set itself. */
export interface Writer {
  readonly controller: string;
  readonly key: string;
  readonly round: number;
}

/** One object that was written in a preview. */
export interface OverlayEntry {
  /** The object on the live control plane; undefined when it does not exist there. */
  readonly before: KubeObject | undefined;
  /** The object now; undefined when it is gone. */
  now: KubeObject | undefined;
  /** Whether anything but the status was written. */
  isChanged: boolean;
  /** Whether it was removed and made again. */
  wasRemoved: boolean;
  readonly approximate: Set<Approximation>;
  /** In the order of their first write. */
  readonly writers: Writer[];
  /** The text with which the API server refused the last write. */
  refusal: { readonly text: string; readonly isInvalid: boolean } | undefined;
}

/** A refused write. A typed patch that does not fit the schema is an internal error to API servers, and still the fault of the object. */
export function refusalOf(error: unknown): { readonly text: string; readonly isInvalid: boolean } {
  const text = textOf(error);
  const isWrong =
    isInvalid(error) || findStatusError(error)?.status.code === 400 || text.includes("typed patch object");
  return { text, isInvalid: isWrong };
}

/** An entry of an object that was not written yet. */
export function newEntry(before: KubeObject | undefined): OverlayEntry {
  return {
    before,
    now: before,
    isChanged: false,
    wasRemoved: false,
    approximate: new Set(),
    writers: [],
    refusal: undefined,
  };
}

/** Whether two versions of an object are the same apart from what every write changes. */
export function isSameObject(one: KubeObject, other: KubeObject): boolean {
  return jsonEqual(withoutVersion(one) as JsonValue, withoutVersion(other) as JsonValue);
}

/** Whether two versions of an object differ at most in their status and in who owns which field. */
export function differsOnlyInStatus(one: KubeObject, other: KubeObject): boolean {
  const bare = (object: KubeObject): JsonValue => {
    const { status: _status, ...rest } = object;
    const { managedFields: _managers, resourceVersion: _version, ...metadata } = rest.metadata;
    return { ...rest, metadata } as JsonValue;
  };
  return jsonEqual(bare(one), bare(other));
}

function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The uid of an object that the preview creates: the same in every preview, so that names made of it are too. */
export function previewUid(identity: string): string {
  const hash = createHash("sha1").update(`purlin.dev/preview\n${identity}`).digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString("hex").slice(0, 32);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
