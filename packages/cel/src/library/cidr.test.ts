// SPDX-License-Identifier: Apache-2.0
// Addresses (ip.ts) and networks (cidr.ts).

import { type Subject, testAnswers } from "../testing/answers.ts";

const subject: Subject = {
  schema: { type: "object", properties: { s: { type: "string", maxLength: 10 }, t: { type: "string" } } },
  self: { s: "10.0.0.1", t: "1" },
};

testAnswers([
  { why: "an IPv4 address", expr: "ip('192.168.0.1')", is: "ip 192.168.0.1", cost: 2 },
  { why: "an IPv6 address in its short form", expr: "ip('2001:DB8:0:0:1:0:0:1')", is: "ip 2001:db8::1:0:0:1", cost: 2 },
  { why: "the longest run of zeros is left out", expr: "string(ip('1:0:0:2:0:0:0:3'))", is: '"1:0:0:2::3"', cost: 3 },
  { why: "a single zero stays", expr: "string(ip('1:0:2:3:4:5:6:7'))", is: '"1:0:2:3:4:5:6:7"', cost: 3 },
  {
    why: "an IPv4 address inside an IPv6 address",
    expr: "string(ip('64:ff9b::1.2.3.4'))",
    is: '"64:ff9b::102:304"',
    cost: 3,
  },
  {
    why: "an IPv4 address written as IPv6",
    expr: "ip('::ffff:1.2.3.4')",
    is: 'ERR IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed',
    cost: 2,
  },
  {
    why: "a zone",
    expr: "ip('fe80::1%eth0')",
    is: 'ERR IP address "fe80::1%eth0" with zone value is not allowed',
    cost: 2,
  },
  {
    why: "a zone on an IPv4 address",
    expr: "ip('1.2.3.4%eth0')",
    is: 'ERR IP Address "1.2.3.4%eth0" parse error during conversion from string: ParseAddr("1.2.3.4%eth0"): unexpected character (at "%eth0")',
    cost: 2,
  },
  {
    why: "too few parts",
    expr: "ip('1.2.3')",
    is: 'ERR IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short',
    cost: 1,
  },
  {
    why: "too many parts",
    expr: "ip('1.2.3.4.5')",
    is: 'ERR IP Address "1.2.3.4.5" parse error during conversion from string: ParseAddr("1.2.3.4.5"): IPv4 address too long',
    cost: 1,
  },
  {
    why: "a leading zero",
    expr: "ip('1.2.3.04')",
    is: 'ERR IP Address "1.2.3.04" parse error during conversion from string: ParseAddr("1.2.3.04"): IPv4 field has octet with leading zero',
    cost: 1,
  },
  {
    why: "a part above 255",
    expr: "ip('1.2.3.256')",
    is: 'ERR IP Address "1.2.3.256" parse error during conversion from string: ParseAddr("1.2.3.256"): IPv4 field has value >255',
    cost: 1,
  },
  {
    why: "an empty string",
    expr: "ip('')",
    is: 'ERR IP Address "" parse error during conversion from string: ParseAddr(""): unable to parse IP',
    cost: 0,
  },
  {
    why: "a letter",
    expr: "ip('1.2.3.a')",
    is: 'ERR IP Address "1.2.3.a" parse error during conversion from string: ParseAddr("1.2.3.a"): unexpected character (at "a")',
    cost: 1,
  },
  {
    why: "two double colons",
    expr: "ip('1::2::3')",
    is: 'ERR IP Address "1::2::3" parse error during conversion from string: ParseAddr("1::2::3"): multiple :: in address (at ":3")',
    cost: 1,
  },
  {
    why: "too many groups",
    expr: "ip('1:2:3:4:5:6:7:8:9')",
    is: 'ERR IP Address "1:2:3:4:5:6:7:8:9" parse error during conversion from string: ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9")',
    cost: 2,
  },
  {
    why: "too few groups",
    expr: "ip('1:2:3')",
    is: 'ERR IP Address "1:2:3" parse error during conversion from string: ParseAddr("1:2:3"): address string too short',
    cost: 1,
  },
  {
    why: "a group of five digits",
    expr: "ip('12345::')",
    is: 'ERR IP Address "12345::" parse error during conversion from string: ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")',
    cost: 1,
  },
  {
    why: "a colon at the end",
    expr: "ip('1:2:3:4:5:6:7:')",
    is: 'ERR IP Address "1:2:3:4:5:6:7:" parse error during conversion from string: ParseAddr("1:2:3:4:5:6:7:"): colon must be followed by more characters (at ":")',
    cost: 2,
  },
  {
    why: "a name",
    expr: "ip('localhost')",
    is: 'ERR IP Address "localhost" parse error during conversion from string: ParseAddr("localhost"): unable to parse IP',
    cost: 1,
  },
]);

testAnswers([
  { why: "an address", expr: "isIP('::1')", is: "true", cost: 1 },
  { why: "an address with a zone is not one", expr: "isIP('fe80::1%eth0')", is: "false", cost: 2 },
  { why: "an IPv4 address written as IPv6 is not one", expr: "isIP('::ffff:1.2.3.4')", is: "false", cost: 2 },
  { why: "a network is not one", expr: "isIP('10.0.0.0/8')", is: "false", cost: 1 },
  { why: "not a string", expr: "isIP(dyn(1))", is: "ERR no such overload: isIP(int)", cost: 1 },
]);

testAnswers([
  { why: "the short form", expr: "ip.isCanonical('2001:db8::1')", is: "true", cost: 3 },
  { why: "capitals", expr: "ip.isCanonical('2001:DB8::1')", is: "false", cost: 3 },
  { why: "a zero that could be left out", expr: "ip.isCanonical('2001:db8:0::1')", is: "false", cost: 3 },
  { why: "zeros", expr: "ip.isCanonical('::0')", is: "false", cost: 1 },
  { why: "IPv4", expr: "ip.isCanonical('127.0.0.1')", is: "true", cost: 2 },
  {
    why: "not an address",
    expr: "ip.isCanonical('127.0.0')",
    is: 'ERR IP Address "127.0.0" parse error during conversion from string: ParseAddr("127.0.0"): IPv4 address too short',
    cost: 2,
  },
]);

testAnswers([
  { why: "the families", expr: "[ip('1.2.3.4').family(), ip('::1').family()]", is: "[4, 6]", cost: 14 },
  {
    why: "unspecified addresses",
    expr: "[ip('0.0.0.0').isUnspecified(), ip('::').isUnspecified(), ip('::1').isUnspecified()]",
    is: "[true, true, false]",
    cost: 16,
  },
  {
    why: "loopback addresses",
    expr: "[ip('127.255.0.1').isLoopback(), ip('128.0.0.1').isLoopback(), ip('::1').isLoopback(), ip('::2').isLoopback()]",
    is: "[true, false, true, false]",
    cost: 19,
  },
  {
    why: "link-local multicast of IPv4",
    expr: "[ip('224.0.0.255').isLinkLocalMulticast(), ip('224.0.1.0').isLinkLocalMulticast()]",
    is: "[true, false]",
    cost: 15,
  },
  {
    why: "link-local multicast of IPv6",
    expr: "['ff02::1', 'ff12::1', 'ff01::1', 'fe02::1'].map(a, ip(a).isLinkLocalMulticast())",
    is: "[true, true, false, false]",
    cost: 61,
  },
  {
    why: "link-local unicast of IPv4",
    expr: "[ip('169.254.255.1').isLinkLocalUnicast(), ip('169.255.0.1').isLinkLocalUnicast()]",
    is: "[true, false]",
    cost: 16,
  },
  {
    why: "link-local unicast of IPv6",
    expr: "['fe80::1', 'febf::1', 'fec0::1', 'fe00::1'].map(a, ip(a).isLinkLocalUnicast())",
    is: "[true, true, false, false]",
    cost: 61,
  },
  {
    why: "global unicast of IPv4",
    expr: "['10.0.0.1', '8.8.8.8', '255.255.255.255', '0.0.0.0', '127.0.0.1', '224.0.0.1', '169.254.0.1', '239.1.1.1'].map(a, ip(a).isGlobalUnicast())",
    is: "[true, true, false, false, false, false, false, false]",
    cost: 123,
  },
  {
    why: "global unicast of IPv6",
    expr: "['2001:db8::1', 'fc00::1', '::', '::1', 'ff0e::1', 'fe80::1'].map(a, ip(a).isGlobalUnicast())",
    is: "[true, true, false, false, false, false]",
    cost: 92,
  },
]);

testAnswers([
  { why: "addresses are equal in any form", expr: "ip('::1') == ip('0:0:0:0:0:0:0:1')", is: "true", cost: 4 },
  { why: "addresses differ", expr: "ip('1.2.3.4') == ip('1.2.3.5')", is: "false", cost: 3 },
  { why: "IPv4 and IPv6 with the same bits differ", expr: "ip('0.0.0.1') == ip('::1')", is: "false", cost: 3 },
  { why: "an address and a string", expr: "dyn(ip('::1')) == dyn('::1')", is: "ERR no such overload", cost: 3 },
  { why: "an address and a network", expr: "dyn(ip('::1')) != dyn(cidr('::1/128'))", is: "true", cost: 6 },
]);

testAnswers([
  { why: "a network keeps the bits of its host", expr: "cidr('10.0.0.1/8')", is: "cidr 10.0.0.1/8", cost: 1 },
  { why: "IPv6", expr: "string(cidr('2001:DB8::/32'))", is: '"2001:db8::/32"', cost: 3 },
  {
    why: "no length",
    expr: "cidr('10.0.0.0')",
    is: "ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"10.0.0.0\"): no '/'",
    cost: 1,
  },
  {
    why: "an empty length",
    expr: "cidr('10.0.0.0/')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/"): bad bits after slash: ""',
    cost: 1,
  },
  {
    why: "a length that is too large",
    expr: "cidr('10.0.0.0/33')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range',
    cost: 2,
  },
  {
    why: "a length that is too large for IPv6",
    expr: "cidr('::/129')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("::/129"): prefix length out of range',
    cost: 1,
  },
  {
    why: "a length with a leading zero",
    expr: "cidr('10.0.0.0/08')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"',
    cost: 2,
  },
  {
    why: "a length with a sign",
    expr: "cidr('10.0.0.0/+8')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/+8"): bad bits after slash: "+8"',
    cost: 2,
  },
  {
    why: "a negative length",
    expr: "cidr('10.0.0.0/-1')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/-1"): bad bits after slash: "-1"',
    cost: 2,
  },
  {
    why: "a length that is not a number",
    expr: "cidr('10.0.0.0/x')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/x"): bad bits after slash: "x"',
    cost: 1,
  },
  {
    why: "a length of many digits",
    expr: "cidr('10.0.0.0/1000')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/1000"): prefix length out of range',
    cost: 2,
  },
  {
    why: "a wrong address",
    expr: "cidr('10.0.0/8')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0/8"): ParseAddr("10.0.0"): IPv4 address too short',
    cost: 1,
  },
  {
    why: "two slashes",
    expr: "cidr('10.0.0.0/8/8')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/8/8"): ParseAddr("10.0.0.0/8"): unexpected character (at "/8")',
    cost: 2,
  },
  {
    why: "no address",
    expr: "cidr('/8')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("/8"): ParseAddr(""): unable to parse IP',
    cost: 1,
  },
  {
    why: "a zone",
    expr: "cidr('fe80::1%eth0/64')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("fe80::1%eth0/64"): IPv6 zones cannot be present in a prefix',
    cost: 2,
  },
  {
    why: "an IPv4 network written as IPv6",
    expr: "cidr('::ffff:1.2.3.4/100')",
    is: 'ERR network address parse error during conversion from string: IPv4-mapped IPv6 address "::ffff:1.2.3.4/100" is not allowed',
    cost: 2,
  },
  {
    why: "whether something is a network",
    expr: "[isCIDR('10.0.0.0/8'), isCIDR('10.0.0.0'), isCIDR('::/0'), isCIDR('::ffff:1.2.3.4/100')]",
    is: "[true, false, true, false]",
    cost: 15,
  },
  { why: "the address", expr: "cidr('10.1.2.3/8').ip()", is: "ip 10.1.2.3", cost: 2 },
  { why: "the length", expr: "cidr('10.1.2.3/8').prefixLength()", is: "8", cost: 2 },
  {
    why: "the network without the bits of the host",
    expr: "cidr('10.1.2.3/8').masked()",
    is: "cidr 10.0.0.0/8",
    cost: 2,
  },
  { why: "of length 0", expr: "cidr('10.1.2.3/0').masked()", is: "cidr 0.0.0.0/0", cost: 2 },
  { why: "of full length", expr: "cidr('10.1.2.3/32').masked()", is: "cidr 10.1.2.3/32", cost: 3 },
  { why: "of IPv6", expr: "cidr('2001:db8:ffff::ff/33').masked()", is: "cidr 2001:db8:8000::/33", cost: 3 },
  {
    why: "networks with different hosts differ",
    expr: "cidr('10.0.0.0/8') == cidr('10.0.0.1/8')",
    is: "false",
    cost: 3,
  },
  {
    why: "networks with different lengths differ",
    expr: "cidr('10.0.0.0/8') == cidr('10.0.0.0/9')",
    is: "false",
    cost: 3,
  },
  { why: "equal networks", expr: "cidr('10.0.0.0/8') == cidr('10.0.0.0/8')", is: "true", cost: 3 },
]);

testAnswers([
  { why: "an address inside", expr: "cidr('10.0.0.0/8').containsIP('10.255.255.255')", is: "true", cost: 4 },
  { why: "an address outside", expr: "cidr('10.0.0.0/8').containsIP(ip('11.0.0.0'))", is: "false", cost: 3 },
  { why: "an address of the other family", expr: "cidr('0.0.0.0/0').containsIP('::1')", is: "false", cost: 2 },
  {
    why: "a text that is not an address",
    expr: "cidr('10.0.0.0/8').containsIP('x')",
    is: "ERR no such overload",
    cost: 3,
  },
  { why: "the bits of the host do not count", expr: "cidr('10.9.9.9/8').containsIP('10.1.1.1')", is: "true", cost: 3 },
  { why: "IPv6", expr: "cidr('2001:db8::/32').containsIP('2001:db8:1::1')", is: "true", cost: 5 },
  { why: "a smaller network", expr: "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", is: "true", cost: 6 },
  { why: "the same network", expr: "cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/8'))", is: "true", cost: 5 },
  { why: "a larger network", expr: "cidr('10.0.0.0/8').containsCIDR('10.0.0.0/7')", is: "false", cost: 5 },
  { why: "another network", expr: "cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')", is: "false", cost: 6 },
  { why: "a network of the other family", expr: "cidr('0.0.0.0/0').containsCIDR('::/0')", is: "false", cost: 3 },
  {
    why: "a text that is not a network",
    expr: "cidr('10.0.0.0/8').containsCIDR('x/8')",
    is: 'ERR network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("x/8"): ParseAddr("x"): unable to parse IP',
    cost: 5,
  },
]);

testAnswers(
  [
    {
      why: "reading an address costs the text",
      expr: "ip(self.s).isLoopback()",
      is: "false",
      cost: 4,
      min: 3n,
      max: 7n,
    },
    { why: "whether something is an address", expr: "isIP(self.s)", is: "true", cost: 3, min: 2n, max: 6n },
    { why: "the canonical form costs twice", expr: "ip.isCanonical(self.s)", is: "true", cost: 4, min: 2n, max: 10n },
    {
      why: "reading a network",
      expr: "cidr(self.s + '/8').prefixLength() == 8",
      is: "true",
      cost: 6,
      min: 6n,
      max: 14n,
    },
    {
      why: "the address of a network costs one",
      expr: "cidr('10.0.0.0/8').ip() == ip(self.s)",
      is: "false",
      cost: 6,
      min: 5n,
      max: 9n,
    },
    {
      why: "an address in a network",
      expr: "cidr('10.0.0.0/8').containsIP(ip(self.s))",
      is: "true",
      cost: 5,
      min: 4n,
      max: 11n,
    },
    {
      why: "a text in a network",
      expr: "cidr('10.0.0.0/8').containsIP(self.s)",
      is: "true",
      cost: 5,
      min: 4n,
      max: 11n,
    },
    {
      why: "a text of IPv6",
      expr: "cidr('2001:db8::/64').containsIP('2001:db8::1')",
      is: "true",
      cost: 6,
      min: 5n,
      max: 8n,
    },
    {
      why: "a network in a network",
      expr: "cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/16'))",
      is: "true",
      cost: 6,
      min: 6n,
      max: 10n,
    },
    {
      why: "the text of a network in a network",
      expr: "cidr('10.0.0.0/8').containsCIDR(self.s + '/16')",
      is: "true",
      cost: 10,
      min: 8n,
      max: 20n,
    },
    {
      why: "a network of IPv6 in a network",
      expr: "cidr('2001:db8::/64').containsCIDR(cidr('2001:db8::/96'))",
      is: "true",
      cost: 8,
      min: 7n,
      max: 11n,
    },
    { why: "the text of an address", expr: "string(ip(self.s)) == '10.0.0.1'", is: "true", cost: 5, min: 4n, max: 8n },
    {
      why: "equality of addresses costs one",
      expr: "ip('2001:db8::1') == ip('2001:db8::1')",
      is: "true",
      cost: 5,
      min: 5n,
      max: 5n,
    },
  ],
  subject,
);
