// SPDX-License-Identifier: Apache-2.0
// Gives a Secret a new password, and keeps the old one for clients that still use it.
import { randomBytes } from "node:crypto";
import { type FunctionHandler, request, response } from "@purlin/function-sdk";

export const fn: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const secret = request.getRequiredResource(req, "secret")?.resource;
  if (secret === undefined) {
    response.fatal(rsp, "the Secret does not exist: create it first");
    return rsp;
  }
  const password = randomBytes(24).toString("base64url");
  response.setDesiredComposedResource(rsp, "secret", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: secret.name, namespace: secret.namespace },
    data: {
      password: Buffer.from(password).toString("base64"),
      "previous-password": secret.getString("data.password"),
    },
  });
  response.setOutput(rsp, { rotated: `${secret.namespace}/${secret.name}` });
  return rsp;
};

export default fn;
