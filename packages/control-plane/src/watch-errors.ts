// SPDX-License-Identifier: Apache-2.0
import { isNoMatch } from "@purlin/kube-client";
import type { Log } from "@purlin/kube-controller";
import type { TypeRef } from "@purlin/kube-objects/object";

/** Told whenever a type cannot be followed; it is tried again either way. */
export type WatchErrorTeller = (error: unknown, type: TypeRef) => void;

/**
 * Tells whoever wonders why nothing happens that a type cannot be followed: once for each reason, not with every try. A type that was
 * followed and whose definition has gone since is no trouble at all; it is let go after a while.
 */
export function createWatchErrorTeller(log: Log, wasFollowed: (type: TypeRef) => boolean): WatchErrorTeller {
  const told = new Map<string, string>();
  return (error, type) => {
    const name = `${type.kind} (${type.apiVersion})`;
    const text = error instanceof Error ? error.message : String(error);
    const isNews = told.get(name) !== text && !(isNoMatch(error) && wasFollowed(type));
    if (isNews) told.set(name, text);
    log[isNews ? "info" : "debug"]("cannot follow a type, trying again", { type: name, error: text });
  };
}
