// SPDX-License-Identifier: Apache-2.0
// Who may approve and sign CertificateSigningRequests: a write to their subresources also needs a right on the signer that they name.
import { forbidden } from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import type { Authorizer } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import type { AdmissionPlugin, AdmissionWrite } from "./admission.ts";

const group = "certificates.k8s.io";

/** A right on a signer, or on all signers of its domain. */
function mayUse(
  authorizer: Authorizer,
  user: User,
  { verb, signer }: { readonly verb: string; readonly signer: string },
) {
  const [domain = ""] = signer.split("/");
  return [signer, `${domain}/*`].some((name) => {
    const access = { verb, group, version: "*", resource: "signers", subresource: "", namespace: "", name };
    return authorizer(user, { kind: "resource", ...access }).allowed;
  });
}

const handlesOnly =
  (subresource: string) =>
  (write: AdmissionWrite): boolean =>
    write.type.group === group &&
    write.type.resource === "certificatesigningrequests" &&
    write.subresource === subresource &&
    write.operation === "UPDATE";

/** Whether the certificate or the conditions are other ones. */
function isSigned(object: JsonObject, old: JsonObject): boolean {
  const part = (one: JsonObject, name: string) => memberAt(one, ["status", name]) ?? null;
  return ["certificate", "conditions"].some((name) => !jsonEqual(part(object, name), part(old, name)));
}

/** The plugins CertificateApproval and CertificateSigning. */
export function signerPlugins(authorizer: Authorizer): AdmissionPlugin[] {
  const plugin = (name: string, subresource: string, verb: string): AdmissionPlugin => ({
    name,
    handles: handlesOnly(subresource),
    validate: ({ object = {}, old = {}, type, name: own, user }) => {
      if (verb === "sign" && !isSigned(object, old)) return;
      // The signer of the stored object counts: a request may say anything.
      const signer = stringAt(old, ["spec", "signerName"]);
      if (mayUse(authorizer, user, { verb, signer })) return;
      throw forbidden(type, own, `user not permitted to ${verb} requests with signerName ${goQuote(signer)}`);
    },
  });
  return [plugin("CertificateApproval", "approval", "approve"), plugin("CertificateSigning", "status", "sign")];
}
