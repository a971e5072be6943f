// SPDX-License-Identifier: Apache-2.0
import { formatIpAddress, type IpAddress, IpSyntaxError, isMappedIPv4, parseCidr } from "@purlin/base";
import { goQuote } from "@purlin/kube-objects/json";
import { boolType, intType, opaqueType, stringType } from "../types/types.ts";
import { CelError, isError, noSuchOverload, OpaqueValue, type Value } from "../values/value.ts";
import {
  addRanges,
  type CostModel,
  characterCost,
  fixedCost,
  one,
  type Range,
  scaleRange,
  sizeOf,
  traversal,
} from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";
import { addressErrorText, IpValue, ipType, parseIp } from "./ip.ts";

const cidrType = opaqueType("net.CIDR");

/** A network: an address and the number of its leading bits that count. */
class CidrValue extends OpaqueValue {
  readonly typeName = "net.CIDR";
  readonly address: IpAddress;
  readonly length: number;

  constructor(address: IpAddress, length: number) {
    super();
    this.address = address;
    this.length = length;
  }

  equals(other: Value): boolean | CelError {
    if (!(other instanceof CidrValue)) return isError(other) ? other : noSuchOverload;
    const { bits, value } = this.address;
    return other.address.bits === bits && other.address.value === value && other.length === this.length;
  }

  override toString(): string {
    return `${formatIpAddress(this.address)}/${this.length}`;
  }

  override get costSize(): number {
    return Math.ceil(this.length / 8);
  }

  /** Whether another address has the same first `length` bits. */
  matches(other: IpAddress): boolean {
    const rest = BigInt(this.address.bits - this.length);
    return other.bits === this.address.bits && other.value >> rest === this.address.value >> rest;
  }

  masked(): CidrValue {
    const rest = BigInt(this.address.bits - this.length);
    return new CidrValue({ ...this.address, value: (this.address.value >> rest) << rest }, this.length);
  }
}

const problemPrefix = "network address parse error during conversion from string";

function toCidr(text: Value | undefined): CidrValue | CelError {
  if (typeof text !== "string") return noSuchOverload;
  try {
    const { address, length } = parseCidr(text);
    if (!isMappedIPv4(address)) return new CidrValue(address, length);
    return new CelError(`${problemPrefix}: IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  } catch (problem) {
    if (!(problem instanceof IpSyntaxError)) throw problem;
    const detail = `netip.ParsePrefix(${goQuote(text)}): ${prefixErrorText(text, problem)}`;
    return new CelError(`${problemPrefix}: ${problemPrefix}: ${detail}`);
  }
}

function prefixErrorText(text: string, problem: IpSyntaxError): string {
  if (problem.of === "address") return addressErrorText(text.slice(0, text.lastIndexOf("/")), problem);
  return problem.rest === "" && !problem.message.startsWith("bad bits")
    ? problem.message
    : `${problem.message}: ${goQuote(problem.rest)}`;
}

const containsIp: Implementation = ([cidr, ip]) => {
  const address = typeof ip === "string" ? parseIp(ip) : ip;
  if (!(cidr instanceof CidrValue)) return noSuchOverload;
  // The text of the problem is lost in Kubernetes too: it looks at the wrong argument.
  return address instanceof IpValue ? cidr.matches(address.address) : noSuchOverload;
};

const containsCidr: Implementation = ([cidr, other]) => {
  const inner = typeof other === "string" ? toCidr(other) : other;
  if (!(cidr instanceof CidrValue)) return noSuchOverload;
  if (!(inner instanceof CidrValue)) return isError(inner) ? inner : noSuchOverload;
  return cidr.length <= inner.length && cidr.matches(inner.address);
};

const bytesToCompare: Range = { min: 8n, max: 32n };

const containsIpCost: CostModel = {
  actual: ([cidr = null], meter) => Math.ceil(2 * sizeOf(cidr, meter) * characterCost),
  estimate: () => ({ cost: scaleRange(bytesToCompare, characterCost) }),
};

// The network is masked first, and the lengths are compared too.
const containsCidrCost: CostModel = {
  actual: ([cidr = null], meter) => {
    const size = sizeOf(cidr, meter);
    return Math.ceil(2 * size * characterCost) + Math.ceil(size * characterCost) + 1;
  },
  estimate: () => ({
    cost: addRanges(scaleRange(bytesToCompare, characterCost), scaleRange({ min: 4n, max: 16n }, characterCost), one),
  }),
};

/** The same where the second argument is a text that has to be read first. */
const withParsing = (model: CostModel): CostModel => ({
  actual: (args, meter, result) =>
    model.actual(args, meter, result) + Math.ceil(sizeOf(args[1] ?? null, meter) * characterCost),
  estimate: (call) => {
    const base = model.estimate(call);
    const [text] = call.args;
    return base && text && { cost: addRanges(base.cost, scaleRange(call.sizeOf(text), characterCost)) };
  },
});

const onCidr =
  (run: (cidr: CidrValue) => Value): Implementation =>
  ([cidr]) =>
    cidr instanceof CidrValue ? run(cidr) : noSuchOverload;

/** Functions on networks. */
export const cidrFunctions: readonly FunctionDecl[] = [
  {
    name: "cidr",
    cost: traversal(),
    overloads: [overload(signature("string_to_cidr", [stringType], cidrType), ([text]) => toCidr(text))],
  },
  {
    name: "isCIDR",
    cost: traversal(),
    overloads: [overload(signature("is_cidr", [stringType], boolType), ([text]) => !isError(toCidr(text)))],
  },
  {
    name: "containsIP",
    cost: containsIpCost,
    overloads: [
      memberOverload(signature("cidr_contains_ip_string", [cidrType, stringType], boolType), containsIp, {
        cost: withParsing(containsIpCost),
      }),
      memberOverload(signature("cidr_contains_ip_ip", [cidrType, ipType], boolType), containsIp),
    ],
  },
  {
    name: "containsCIDR",
    cost: containsCidrCost,
    overloads: [
      memberOverload(signature("cidr_contains_cidr_string", [cidrType, stringType], boolType), containsCidr, {
        cost: withParsing(containsCidrCost),
      }),
      memberOverload(signature("cidr_contains_cidr", [cidrType, cidrType], boolType), containsCidr),
    ],
  },
  {
    name: "ip",
    overloads: [
      memberOverload(
        signature("cidr_ip", [cidrType], ipType),
        onCidr((cidr) => new IpValue(cidr.address)),
      ),
    ],
  },
  {
    name: "prefixLength",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("cidr_prefix_length", [cidrType], intType),
        onCidr((cidr) => BigInt(cidr.length)),
      ),
    ],
  },
  {
    name: "masked",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("cidr_masked", [cidrType], cidrType),
        onCidr((cidr) => cidr.masked()),
      ),
    ],
  },
  {
    name: "string",
    overloads: [
      overload(
        signature("cidr_to_string", [cidrType], stringType),
        onCidr((cidr) => cidr.toString()),
      ),
    ],
  },
];
