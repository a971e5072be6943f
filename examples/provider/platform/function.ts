// SPDX-License-Identifier: Apache-2.0
import { type RunFunction, request, response } from "@purlin/function-sdk";

/** Composes a file with the text of a note, and shows where it is. */
const composeNote: RunFunction = (req) => {
  const rsp = response.to(req);
  const { resource } = request.getObservedCompositeResource(req);
  const file = request.getObservedComposedResources(req).get("file")?.resource;
  const content = resource.getString("spec.text");
  const wanted = { apiVersion: "files.example.org/v1alpha1", kind: "File", spec: { forProvider: { content } } };
  response.setDesiredComposedResource(rsp, "file", wanted, { ready: file?.getCondition("Ready").status === "True" });
  const path = file?.getString("status.atProvider.path", undefined);
  if (path !== undefined) response.setDesiredCompositeStatus(rsp, { path });
  return rsp;
};

export default composeNote;
