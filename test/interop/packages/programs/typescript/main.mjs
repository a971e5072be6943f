// SPDX-License-Identifier: Apache-2.0
// A composition function with the public TypeScript SDK. It composes one ConfigMap that names its author.
import {
  fromObject,
  getObservedCompositeResource,
  Ready,
  serve,
  setDesiredComposedResources,
} from "@crossplane-org/function-sdk-typescript";

serve((req, rsp) => {
  const { spec = {} } = getObservedCompositeResource(req)?.resource ?? {};
  const data = {
    language: "typescript",
    greeting: `${spec.greeting} from TypeScript`,
    function: process.env["FUNCTION_NAME"] ?? "",
    uid: String(process.getuid?.()),
  };
  const map = fromObject({ apiVersion: "v1", kind: "ConfigMap", data }, {}, Ready.READY_TRUE);
  return setDesiredComposedResources(rsp, { typescript: map });
});
