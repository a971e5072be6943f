// SPDX-License-Identifier: Apache-2.0

import { notFound, type StatusError, serviceUnavailable } from "@purlin/kube-objects/errors";
import { type RunStore, recorderWaits, runsDocument } from "@purlin/run-store";
import type { ControlPlane } from "./control-plane.ts";
import { serveText, type TextAnswer, type TextServer } from "./serve-status.ts";

const contentType = "application/json";

/**
 * Serves the recorded runs at an address, for the API server's service proxy. Failures are Status objects, as clients of an API server
 * expect them. A replica that does not lead has no runs of this control plane, or old ones: it does not answer with them.
 */
export function serveRuns(address: string, plane: Pick<ControlPlane, "state">, runs: RunStore): Promise<TextServer> {
  return serveText(address, (path, query) => {
    if (plane.state !== "running") return failure(serviceUnavailable(recorderWaits));
    const document = runsDocument(runs, path, query);
    if (document === undefined) return failure(notFound({ group: "", resource: "runs" }, path.split("/").at(-1) ?? ""));
    return { text: JSON.stringify(document), contentType };
  });
}

function failure({ status }: StatusError): TextAnswer {
  return { code: status.code ?? 500, text: JSON.stringify(status), contentType };
}
