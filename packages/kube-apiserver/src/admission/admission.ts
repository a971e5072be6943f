// SPDX-License-Identifier: Apache-2.0
// Admission: what may change or refuse a write between its authorization and the store.

import type { AwaitingWork } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { User } from "../auth/user.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Transaction } from "../store/store.ts";

/** The operations of admission. A patch and an apply are a CREATE or an UPDATE. */
export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** A class of writes: the same plugins, policies and webhooks can concern all of them. */
export interface AdmissionWrite {
  readonly operation: AdmissionOperation;
  /** The type in the version of the request. */
  readonly type: ResourceType;
  /** Empty for a write of the object itself. */
  readonly subresource: string;
}

/** One write. Objects are in the version of the request. */
export interface AdmissionAttributes extends AdmissionWrite {
  /** For a Namespace its own name; empty for other cluster-scoped objects. */
  readonly namespace: string;
  /** Empty while the name of a new object is not generated, and for each object of a deletecollection request. */
  readonly name: string;
  /** The new object; undefined for DELETE. */
  readonly object: JsonObject | undefined;
  /** The current object; undefined for CREATE. */
  readonly old: JsonObject | undefined;
  /** CreateOptions, UpdateOptions or DeleteOptions. */
  readonly options: JsonObject;
  readonly dryRun: boolean;
  readonly user: User;
  /** Adds a warning to the response, also to that of a refused request. */
  readonly warn: (text: string) => void;
  /** Adds an annotation to the audit log; the first value of a key counts. */
  readonly annotate: NonNullable<ApiRequest["audit"]>["annotate"];
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal;
}

/**
 * A built-in admission plugin. Its functions do not wait and must be fast. They refuse a write by throwing a StatusError. They are called
 * again when the write is repeated because the object has changed meanwhile, so they must not change anything but the object they return.
 */
export interface AdmissionPlugin {
  /** The name in the reference, which also decides its place in the order of plugins. */
  readonly name: string;
  handles(write: AdmissionWrite): boolean;
  /** Changes the object before it is validated. Returns the same object when there is nothing to change. */
  admit?(attributes: AdmissionAttributes & { readonly object: JsonObject }): JsonObject;
  /** Checks the object after it was validated. */
  validate?(attributes: AdmissionAttributes): void;
  /**
   * Checks the write in the transaction that makes it, after everything else, where no other write can come between the check and the
   * write. Not called for a dry run. For limits that a burst of writes must not exceed.
   */
  commit?(attributes: AdmissionAttributes, transaction: Transaction<JsonObject>): void;
}

/** Everything that admits one class of writes. */
export interface WriteAdmission {
  /** Whether it may wait for something, such as the response of a webhook. */
  readonly waits: boolean;
  /** The object after all mutating steps. Not for DELETE. */
  mutating(attributes: AdmissionAttributes & { readonly object: JsonObject }): AwaitingWork<JsonObject>;
  validating(attributes: AdmissionAttributes): AwaitingWork<void>;
  /** Both steps of a DELETE, which cannot change the object. */
  deleting(attributes: AdmissionAttributes): AwaitingWork<void>;
  commit(attributes: AdmissionAttributes, transaction: Transaction<JsonObject>): void;
}

/** Finds what admits a class of writes; undefined when nothing does, which costs a write nothing. */
export interface AdmissionChain {
  find(write: AdmissionWrite): WriteAdmission | undefined;
}
