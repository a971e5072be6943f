// SPDX-License-Identifier: Apache-2.0
import type { HealthCheck, HealthChecks } from "./health.ts";

/** What there is to know about whether the server is well. */
export interface ServerState {
  /** Why the store does not take writes; undefined when it does. */
  readonly storeProblem: () => string | undefined;
  /** The definitions of custom kinds are loaded and their kinds served. */
  readonly areKindsServed: () => boolean;
  /** What every cluster has is there. */
  readonly isBootstrapped: () => boolean;
  readonly isStopping: () => boolean;
}

/** The checks of the server, by the names under which those who watch over the reference know them. */
export function serverChecks(state: ServerState): HealthChecks {
  const ping = { name: "ping", check: () => undefined };
  const store = (name: string): HealthCheck => ({ name, check: state.storeProblem });
  const kinds = (name: string): HealthCheck => unless(name, state.areKindsServed, "custom kinds are not served yet");
  const bootstrap = (name: string): HealthCheck =>
    unless(name, state.isBootstrapped, "what every cluster has is not there yet");
  const hooks = [
    kinds("poststarthook/start-apiextensions-controllers"),
    kinds("poststarthook/crd-informer-synced"),
    bootstrap("poststarthook/start-system-namespaces-controller"),
    bootstrap("poststarthook/rbac/bootstrap-roles"),
  ];
  const live = [ping, store("etcd"), ...hooks];
  const shutdown = unless("shutdown", () => !state.isStopping(), "process is shutting down");
  const ready = [ping, store("etcd"), store("etcd-readiness"), kinds("informer-sync"), ...hooks, shutdown];
  return { healthz: live, livez: live, readyz: ready };
}

function unless(name: string, isWell: () => boolean, problem: string): HealthCheck {
  return { name, check: () => (isWell() ? undefined : problem) };
}
