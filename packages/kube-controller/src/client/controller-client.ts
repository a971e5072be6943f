// SPDX-License-Identifier: Apache-2.0
import type { ApplyOptions, CallOptions, KubeReader, KubeWriter, RestMapper } from "@purlin/kube-client";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";

/** Which objects of a type to list. */
export interface CachedListOptions extends CallOptions {
  readonly namespace?: string | undefined;
  /** Labels an object must all have. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** A field an object must have with this value. Like labels, it is looked up in an index, made when first asked for. */
  readonly field?: FieldValue | undefined;
  /** The uid of the owner that controls the objects, looked up in an index; the empty string for objects without a controller. */
  readonly controller?: string | undefined;
  /** Do not read more than these from the server. A cache may answer with more. */
  readonly limit?: number | undefined;
}

/** A string in an object. */
export interface FieldValue {
  readonly path: readonly string[];
  readonly value: string;
}

/** Options of {@link ControllerClient.applyIfChanged}. */
export interface ApplyIfChangedOptions extends ApplyOptions {
  /** The object as the caller has just read it. Saves a read of a type that is not cached. */
  readonly observed?: KubeObject | undefined;
  /** Called with what is known of the object when a request is needed; none is sent if it rejects. */
  readonly beforeSend?: ((current: KubeObject | undefined) => Promise<void>) | undefined;
}

/** What {@link ControllerClient.applyIfChanged} did. */
export interface ApplyOutcome {
  /** The object as it is stored. */
  readonly object: KubeObject;
  /** Whether a request was needed. */
  readonly sent: boolean;
}

/** The way of every reconciler to the API server: reads from shared caches that include what this process wrote. */
export interface ControllerClient extends KubeWriter {
  /**
   * An object from the shared informer of its type, which is started and synced on first use; never older than what this
   * process wrote itself. Undefined when it does not exist. Types the client does not cache, such as Secrets, are read live.
   * An unserved type is a NoMatchError.
   */
  get(type: TypeRef, key: ObjectKey, options?: CallOptions): Promise<KubeObject | undefined>;
  /** The objects of a type, by the same rules. */
  list(type: TypeRef, options?: CachedListOptions): Promise<readonly KubeObject[]>;
  /** Reads that skip the cache. */
  readonly live: KubeReader;
  readonly mapper: RestMapper;
  /** A server-side apply that is not sent when nothing would change. The result is the same either way. */
  applyIfChanged(object: KubeObject, options: ApplyIfChangedOptions): Promise<ApplyOutcome>;
}

/** A controller client that follows types until it is closed. */
export interface ClosableControllerClient extends ControllerClient {
  close(): Promise<void>;
}
