// SPDX-License-Identifier: Apache-2.0
import { notFound, unclassifiedError } from "@purlin/kube-objects";
import type { CompleteResponse } from "../request/api-response.ts";
import { entryResponse, negotiateForm } from "./object-response.ts";
import { badVersionText, parseResourceVersion, waitForRevision } from "./resource-version.ts";
import type { RestRequest } from "./rest-context.ts";
import { objectKey } from "./storage-key.ts";

/** Answers with one object as it is now, or as it will be when the store has reached the resourceVersion asked for. */
export async function getObject(rest: RestRequest): Promise<CompleteResponse> {
  const { request, target, type, store } = rest;
  const form = negotiateForm(request);
  const asked = request.query.get("resourceVersion") ?? "";
  const revision = parseResourceVersion(asked);
  if (revision === undefined) {
    throw unclassifiedError(badVersionText(asked));
  }
  if (revision > store.revision) {
    await waitForRevision(store, revision, request.signal);
  }
  const entry = store.get(objectKey(type, target.namespace, target.name));
  if (entry === undefined) {
    throw notFound(type, target.name);
  }
  return entryResponse(rest, entry, form);
}
