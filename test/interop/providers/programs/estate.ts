// SPDX-License-Identifier: Apache-2.0
// Composes one managed resource of each of three Providers.
import { type RunFunction, request, response } from "@purlin/function-sdk";

const wanted = {
  fleet: { apiVersion: "harbour.example.org/v1", kind: "Fleet", spec: { ships: 2 } },
  garden: { apiVersion: "gardens.example.org/v1", kind: "Garden", spec: { trees: 3 } },
  note: { apiVersion: "files.example.org/v1alpha1", kind: "File", spec: { forProvider: { content: "hello" } } },
};

const handler: RunFunction = (req) => {
  const rsp = response.to(req);
  const observed = request.getObservedComposedResources(req);
  for (const [name, object] of Object.entries(wanted)) {
    const ready = observed.get(name)?.resource.getCondition("Ready").status === "True";
    response.setDesiredComposedResource(rsp, name, object, { ready });
  }
  return rsp;
};

export default handler;
