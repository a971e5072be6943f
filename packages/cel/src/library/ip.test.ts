// SPDX-License-Identifier: Apache-2.0

import { testAnswers } from "../../test/expressions.ts";

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
