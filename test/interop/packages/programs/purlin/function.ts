// SPDX-License-Identifier: Apache-2.0
// A composition function on our own SDK. It composes one ConfigMap that names its author.
import process from "node:process";
import { type RunFunction, request, response } from "@purlin/function-sdk";

const greet: RunFunction = (req) => {
  const rsp = response.to(req);
  const xr = request.getObservedCompositeResource(req);
  const data = {
    language: "purlin",
    greeting: `${xr.resource.getString("spec.greeting")} from Purlin`,
    function: process.env["FUNCTION_NAME"] ?? "",
    uid: String(process.getuid?.()),
  };
  response.setDesiredComposedResource(rsp, "purlin", { apiVersion: "v1", kind: "ConfigMap", data }, { ready: true });
  return rsp;
};

export default greet;
