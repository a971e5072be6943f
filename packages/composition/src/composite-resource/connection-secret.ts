// SPDX-License-Identifier: Apache-2.0
import { controllerOf, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { connectionSecretType } from "./constants.ts";

const advice = "name another one in writeConnectionSecretToRef, or delete it";

/** Throws when connection details must not be written into an existing Secret. */
export function refuseForeignSecret(secret: KubeObject, owner: KubeObject): void {
  const controller = controllerOf(secret);
  const what = secretText(secret);
  if (controller !== undefined && controller.uid !== owner.metadata.uid) {
    const whose = `${what} belongs to ${controller.kind} "${controller.name}"`;
    throw new Error(`existing secret is not controlled by UID "${owner.metadata.uid ?? ""}": ${whose}: ${advice}`);
  }
  const type = String(memberAt(secret, ["type"]) ?? "");
  if (controller === undefined && type !== connectionSecretType) {
    throw new Error(
      `refusing to modify uncontrolled secret of type "${type}": ${what} was not created by this control plane: ${advice}`,
    );
  }
}

/** A Secret in messages. */
export function secretText({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `Secret "${namespace}/${name}"`;
}
