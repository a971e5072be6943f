// SPDX-License-Identifier: Apache-2.0
import {
  formatIpAddress,
  type IpAddress,
  IpSyntaxError,
  ipAddressOf,
  isMappedIPv4,
  parseIpAddress,
} from "@purlin/base";
import { goQuote } from "@purlin/kube-objects/json";
import { boolType, type CelType, intType, opaqueType, stringType } from "../types/types.ts";
import { CelError, isError, noSuchOverload, OpaqueValue, type Value } from "../values/value.ts";
import { type CostModel, characterCost, fixedCost, traversal } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";

export const ipType: CelType = opaqueType("net.IP");

/** An IP address as a value. */
export class IpValue extends OpaqueValue {
  readonly typeName = "net.IP";
  readonly address: IpAddress;

  constructor(address: IpAddress) {
    super();
    this.address = address;
  }

  equals(other: Value): boolean | CelError {
    if (!(other instanceof IpValue)) return isError(other) ? other : noSuchOverload;
    return other.address.bits === this.address.bits && other.address.value === this.address.value;
  }

  override toString(): string {
    return formatIpAddress(this.address);
  }

  override get costSize(): number {
    return this.address.bits / 8;
  }
}

/** The error about an address as Go prints it. */
export function addressErrorText(address: string, { message, rest }: IpSyntaxError): string {
  return `ParseAddr(${goQuote(address)}): ${message}${rest === "" ? "" : ` (at ${goQuote(rest)})`}`;
}

/** Reads an address; zones and IPv4 addresses written as IPv6 are refused. */
export function parseIp(text: Value | undefined): IpValue | CelError {
  if (typeof text !== "string") return noSuchOverload;
  try {
    const address = parseIpAddress(text);
    if (address.zone !== "") return new CelError(`IP address ${goQuote(text)} with zone value is not allowed`);
    if (isMappedIPv4(address)) return new CelError(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
    return new IpValue(address);
  } catch (problem) {
    if (!(problem instanceof IpSyntaxError)) throw problem;
    const message = `IP Address ${goQuote(text)} parse error during conversion from string: ${addressErrorText(text, problem)}`;
    return new CelError(message);
  }
}

const top = (address: IpAddress, count: number): bigint => address.value >> BigInt(address.bits - count);

function isUnspecified({ value }: IpAddress): boolean {
  return value === 0n;
}

function isLoopback(address: IpAddress): boolean {
  return address.bits === 32 ? top(address, 8) === 127n : address.value === 1n;
}

function isMulticast(address: IpAddress): boolean {
  return address.bits === 32 ? top(address, 4) === 0xen : top(address, 8) === 0xffn;
}

function isLinkLocalMulticast(address: IpAddress): boolean {
  if (address.bits === 32) return top(address, 24) === 0xe00000n;
  return (top(address, 16) & 0xff0fn) === 0xff02n;
}

function isLinkLocalUnicast(address: IpAddress): boolean {
  return address.bits === 32 ? top(address, 16) === 0xa9fen : (top(address, 16) & 0xffc0n) === 0xfe80n;
}

function isGlobalUnicast(address: IpAddress): boolean {
  const isBroadcast = address.bits === 32 && address.value === 0xffffffffn;
  const isSpecial = [isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast].some((test) => test(address));
  return !isBroadcast && !isSpecial;
}

function testFunction(name: string, id: string, test: (address: IpAddress) => boolean): FunctionDecl {
  const run: Implementation = ([ip]) => (ip instanceof IpValue ? test(ip.address) : noSuchOverload);
  return { name, cost: fixedCost, overloads: [memberOverload(signature(id, [ipType], boolType), run)] };
}

/** Without the text of an error, which is several times as long as what is wrong. */
const isIp: Implementation = ([text]) => {
  if (typeof text !== "string") return !isError(parseIp(text));
  const address = ipAddressOf(text);
  return address !== undefined && address.zone === "" && !isMappedIPv4(address);
};

const isCanonical: Implementation = ([text]) => {
  const parsed = parseIp(text);
  return isError(parsed) ? parsed : parsed.toString() === text;
};

const ipCost: CostModel = {
  // `cidr.ip()` only reads a field.
  actual: (args, meter) => (typeof args[0] === "string" ? traversal().actual(args, meter, null) : 1),
  estimate: (call) => (call.overload === "cidr_ip" ? fixedCost.estimate(call) : traversal().estimate(call)),
};

/** Functions on IP addresses. */
export const ipFunctions: readonly FunctionDecl[] = [
  {
    name: "ip",
    cost: ipCost,
    overloads: [overload(signature("string_to_ip", [stringType], ipType), ([text]) => parseIp(text))],
  },
  {
    name: "isIP",
    cost: traversal(),
    overloads: [overload(signature("is_ip", [stringType], boolType), isIp)],
  },
  {
    name: "ip.isCanonical",
    cost: traversal({ factor: 2 * characterCost }),
    overloads: [overload(signature("ip_is_canonical", [stringType], boolType), isCanonical)],
  },
  {
    name: "family",
    cost: fixedCost,
    overloads: [
      memberOverload(signature("ip_family", [ipType], intType), ([ip]) =>
        ip instanceof IpValue ? (ip.address.bits === 32 ? 4n : 6n) : noSuchOverload,
      ),
    ],
  },
  testFunction("isUnspecified", "ip_is_unspecified", isUnspecified),
  testFunction("isLoopback", "ip_is_loopback", isLoopback),
  testFunction("isLinkLocalMulticast", "ip_is_link_local_multicast", isLinkLocalMulticast),
  testFunction("isLinkLocalUnicast", "ip_is_link_local_unicast", isLinkLocalUnicast),
  testFunction("isGlobalUnicast", "ip_is_global_unicast", isGlobalUnicast),
  {
    name: "string",
    overloads: [
      overload(signature("ip_to_string", [ipType], stringType), ([ip]) =>
        ip instanceof IpValue ? ip.toString() : noSuchOverload,
      ),
    ],
  },
];
