// SPDX-License-Identifier: Apache-2.0
import { internalError, textOf, tooManyRequests } from "@purlin/kube-objects/errors";
import { printJson } from "@purlin/kube-objects/json";
import type { ApiResponse } from "../request/api-request.ts";
import { textPayload } from "../request/payload.ts";
import { methodNotAllowed } from "../request/plain-refusals.ts";
import { snapshotFile, snapshotPath } from "../store/snapshot.ts";
import type { PathEndpoint } from "./handler.ts";

/** Makes a snapshot of the store on a POST: a file in the data directory, for `purlin backup` on the same machine. One at a time. */
export function snapshotEndpoint(snapshot: () => Promise<void>): PathEndpoint {
  let isBusy = false;
  const make = async (): Promise<ApiResponse> => {
    if (isBusy) throw tooManyRequests("another backup is in progress: try again when it is complete", 1);
    isBusy = true;
    try {
      await snapshot();
      return {
        kind: "complete",
        code: 200,
        payload: textPayload(printJson({ file: snapshotFile }), "application/json"),
      };
    } catch (error) {
      throw internalError(new Error(`cannot write the snapshot: ${textOf(error)}`, { cause: error }));
    } finally {
      isBusy = false;
    }
  };
  return ({ method, path }) => {
    if (path !== snapshotPath) return undefined;
    if (method !== "POST") throw methodNotAllowed();
    return make();
  };
}
