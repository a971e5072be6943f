// SPDX-License-Identifier: Apache-2.0

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "@purlin/base";
import { clientReader } from "@purlin/composition";
import {
  createFunctionRunner,
  createResourceFetcher,
  type LiveRevisions,
  type RequirementFetchers,
  type ShadowReports,
  ShadowRuns,
  ShadowStore,
} from "@purlin/function-runner";
import type { KubeClient, KubeReader } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { createRedactor, keyedMark } from "@purlin/run-store";
import type { ControlPlaneOptions, ControlPlaneSettings } from "./control-plane-options.ts";

/** Runs candidates of rollouts beside the revisions that serve, and keeps what they would change. */
export interface ShadowPlane {
  readonly runs: ShadowRuns;
  readonly reports: ShadowReports;
  close(): void;
}

/** The reports beside the recorded runs. */
const reportsFile = "shadow-reports.json";

interface ShadowPlaneOptions extends ControlPlaneOptions {
  readonly clock: Clock;
  readonly settings: ControlPlaneSettings;
  readonly schema: RequirementFetchers["schema"];
  readonly live: LiveRevisions;
}

/**
 * Makes the shadow runs of a control plane. Their runner has its own connections, and neither cache, recorder nor metrics. What candidates
 * require is read from the server each time: no watch starts, and no cache holds it.
 */
export function createShadowPlane(options: ShadowPlaneOptions): ShadowPlane {
  const { clock, log, runs, functions, live, schema, settings } = options;
  const { security, names, answerLimits } = functions;
  const resources = createResourceFetcher(readerOf(options.client), answerLimits);
  const fetchers = { resources, schema };
  const runner = createFunctionRunner({ security, names, answerLimits, fetchers, live, clock, log });
  const file = runs?.directory === undefined ? undefined : join(runs.directory, reportsFile);
  const store = new ShadowStore({ file, clock, log });
  // Marks are compared within one process only.
  const redactor = createRedactor({ mark: keyedMark(randomBytes(32)), sensitive: runs?.sensitive });
  const shadow = new ShadowRuns({ runner, store, redactor, clock, log, samplePercent: settings.shadowSamplePercent });
  return {
    runs: shadow,
    reports: store,
    close() {
      shadow.close();
      runner.close();
    },
  };
}

/** Reads what candidates require. It has no method that writes. */
function readerOf(client: Pick<KubeReader, "get" | "list"> & Pick<KubeClient, "mapper">) {
  return clientReader({
    mapper: client.mapper,
    get: (type, key, { signal } = {}) => ignoreNotFound(client.get(type, key, { signal })),
    async list(type, { namespace, labels = {}, limit, signal } = {}) {
      const equal = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
      const labelSelector = equal.length === 0 ? undefined : equal.join(",");
      return (await client.list(type, { namespace, labelSelector, limit, signal })).items;
    },
  });
}
