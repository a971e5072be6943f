// SPDX-License-Identifier: Apache-2.0
import { isIP } from "node:net";
import { type Check, eachItem, maybeNamed, within } from "@purlin/kube-apiserver/kinds";
import { invalidValue } from "@purlin/kube-objects/errors";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { stringAt } from "@purlin/kube-objects/object";
import { addressErrors } from "./address-text.ts";

/** The error about a host that is an address. */
export const notAddress: string = "must be a DNS name, not an IP address";

/** The addresses of a load balancer in a status. */
export const loadBalancer: Check = within(
  "loadBalancer",
  eachItem("ingress", (one, path) => {
    const [ip, host] = [stringAt(one, ["ip"]), stringAt(one, ["hostname"])];
    return [
      ...(ip === "" ? [] : addressErrors(ip, `${path}.ip`)),
      ...maybeNamed("hostname", dns1123SubdomainProblems)(one, path),
      ...(isIP(host) === 0 ? [] : [invalidValue(`${path}.hostname`, host, notAddress)]),
    ];
  }),
);
