// SPDX-License-Identifier: Apache-2.0
import { type Clock, repeat } from "@purlin/base";
import { type KeyPair, shouldRenew } from "@purlin/certificates";
import { type JsonObject, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { objectAt } from "@purlin/kube-objects/object";
import type { Catalog } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import type { InternalClient } from "./controller-kit.ts";
import {
  frontProxyName,
  issueFrontProxyClient,
  loadCertificates,
  type ServingCertificates,
} from "./serving-certificates.ts";

/** How often the clock is checked: well within a minute. */
const lookEveryMs = 20_000;

/** The smallest change of the clock that matters to a certificate. A busy machine checks late, which both clocks show alike. */
const jumpMs = 30_000;

interface RenewalOptions {
  readonly directory: string;
  readonly current: ServingCertificates;
  readonly clock: Clock;
  /** Milliseconds that pass evenly, even when the clock is set; without it, setting the clock is not noticed. */
  readonly monotonicMs?: () => number;
  /** Gets all certificates when at least one of them is new. */
  readonly onRenewed: (certificates: ServingCertificates) => void;
  /** Called with the difference when the clock of the machine was set, before certificates are checked. */
  readonly onClockJump?: ((byMs: number) => void) | undefined;
  /** Called with the error when a renewal failed; it is retried. */
  readonly onError: (error: unknown) => void;
}

/** Often enough that none expires: certificates are due for renewal months before. */
const checkEveryMs = 6 * 60 * 60 * 1000;

/** Renews the certificates of a running server before they expire. Returns the way to stop it. */
export function renewInTime(options: RenewalOptions): () => void {
  const { directory, current, clock, monotonicMs, onRenewed, onClockJump, onError } = options;
  let known = current;
  const look = (): void => {
    try {
      const loaded = loadCertificates(directory, { now: new Date(clock.now()), current: known });
      if (isSame(loaded, known)) return;
      known = loaded;
      onRenewed(loaded);
    } catch (error) {
      onError(error);
    }
  };
  const stopLooking = repeat(clock, checkEveryMs, look);
  if (monotonicMs === undefined) return stopLooking;
  const stopWatching = watchForJumps({ clock, monotonicMs }, (byMs) => {
    onClockJump?.(byMs);
    look();
  });
  return () => {
    stopLooking();
    stopWatching();
  };
}

function isSame(one: ServingCertificates, other: ServingCertificates): boolean {
  return (["authority", "server", "admin"] as const).every((name) => one[name].certPem === other[name].certPem);
}

/** A clock that can be set, and the milliseconds that pass evenly beside it. */
interface TwoClocks {
  readonly clock: Clock;
  readonly monotonicMs: () => number;
}

/**
 * Calls `onJump` when the clock was set, or stopped while the machine was suspended, with how far it moved: forward is positive. Returns a
 * function that stops it.
 */
export function watchForJumps({ clock, monotonicMs }: TwoClocks, onJump: (byMs: number) => void): () => void {
  let difference = clock.now() - monotonicMs();
  return repeat(clock, lookEveryMs, () => {
    const now = clock.now() - monotonicMs();
    const byMs = now - difference;
    difference = now;
    if (Math.abs(byMs) >= jumpMs) onJump(byMs);
  });
}

// By what the servers of APIServices recognize this server and its clients.

/** Issues the certificate of this server as a client of other servers: on the first use, and again before it expires. */
export function frontProxyClients(authority: () => KeyPair): () => KeyPair {
  let issued: { readonly by: KeyPair; readonly pair: KeyPair } | undefined;
  return () => {
    const [by, now] = [authority(), new Date()];
    if (issued === undefined || issued.by !== by || shouldRenew(issued.pair.certPem, now)) {
      issued = { by, pair: issueFrontProxyClient(by, now) };
    }
    return issued.pair;
  };
}

const configMap = { name: "extension-apiserver-authentication", namespace: "kube-system" };
const path = `/api/v1/namespaces/${configMap.namespace}/configmaps`;

/** Writes the ConfigMap from which other servers read how to authenticate. When it is up to date, nothing is written. */
export async function publishAuthorities(
  { client, catalog }: { readonly client: InternalClient; readonly catalog: () => Catalog },
  store: Store<JsonObject>,
  { authority, frontProxy }: ServingCertificates,
): Promise<void> {
  if (catalog().find("", "v1", "configmaps") === undefined) return;
  const data = {
    "client-ca-file": authority.certPem,
    "requestheader-allowed-names": printJson([frontProxyName]),
    "requestheader-client-ca-file": frontProxy.certPem,
    "requestheader-extra-headers-prefix": printJson(["X-Remote-Extra-"]),
    "requestheader-group-headers": printJson(["X-Remote-Group"]),
    "requestheader-uid-headers": printJson(["X-Remote-Uid"]),
    "requestheader-username-headers": printJson(["X-Remote-User"]),
  };
  const existing = store.get(`//configmaps/${configMap.namespace}/${configMap.name}`)?.value;
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: configMap, data };
  if (existing === undefined) await client.send("POST", path, { body: object });
  else if (!jsonEqual(objectAt(existing, ["data"]), data)) {
    await client.send("PUT", `${path}/${configMap.name}`, { body: { ...existing, data } });
  }
}
