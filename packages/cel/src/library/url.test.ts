// SPDX-License-Identifier: Apache-2.0

import { stringSubject as subject, testAnswers } from "../../test/expressions.ts";

testAnswers([
  {
    why: "the host has the port",
    expr: "url('https://user:pass@example.com:8443/p').getHost()",
    is: '"example.com:8443"',
    cost: 5,
  },
  {
    why: "the hostname has no port",
    expr: "url('https://user:pass@example.com:8443/p').getHostname()",
    is: '"example.com"',
    cost: 5,
  },
  { why: "the port", expr: "url('https://example.com:8443/p').getPort()", is: '"8443"', cost: 4 },
  { why: "no port", expr: "url('https://example.com/p').getPort()", is: '""', cost: 4 },
  {
    why: "an empty port",
    expr: "[url('https://a:/').getPort(), url('https://a:/').getHost()]",
    is: '["", "a:"]',
    cost: 16,
  },
  {
    why: "the host keeps its case, the scheme does not",
    expr: "[url('HTTP://Example.com').getScheme(), url('HTTP://Example.com').getHost()]",
    is: '["http", "Example.com"]',
    cost: 16,
  },
  {
    why: "an address in brackets",
    expr: "[url('https://[::1]:80/').getHost(), url('https://[::1]:80/').getHostname(), url('https://[::1]:80/').getPort()]",
    is: '["[::1]:80", "::1", "80"]',
    cost: 19,
  },
  {
    why: "a zone of an address",
    expr: "url('https://[fe80::1%25eth0]/').getHostname()",
    is: '"fe80::1%eth0"',
    cost: 4,
  },
  { why: "escapes in a zone", expr: "url('https://[fe80::1%25en%201]/').getHost()", is: '"[fe80::1%en 1]"', cost: 4 },
  {
    why: "an IPv4 address in brackets",
    expr: "url('https://[1.2.3.4]/')",
    is: 'ERR URL parse error during conversion from string: parse "https://[1.2.3.4]/": invalid IP-literal',
    cost: 2,
  },
  {
    why: "an IPv4 address written as IPv6",
    expr: "url('https://[::ffff:1.2.3.4]/').getHost()",
    is: '"[::ffff:1.2.3.4]"',
    cost: 4,
  },
  {
    why: "a bracket that is not closed",
    expr: "url('https://[::1')",
    is: "ERR URL parse error during conversion from string: parse \"https://[::1\": missing ']' in host",
    cost: 2,
  },
  {
    why: "a name before the brackets",
    expr: "url('https://x[::1]/')",
    is: 'ERR URL parse error during conversion from string: parse "https://x[::1]/": invalid IP-literal',
    cost: 2,
  },
  {
    why: "a name behind the brackets",
    expr: "url('https://[::1]x/')",
    is: 'ERR URL parse error during conversion from string: parse "https://[::1]x/": invalid port "x" after host',
    cost: 2,
  },
  {
    why: "a wrong address in brackets",
    expr: "url('https://[::g]/')",
    is: 'ERR URL parse error during conversion from string: parse "https://[::g]/": invalid host: ParseAddr("::g"): each colon-separated field must have at least one digit (at "g")',
    cost: 2,
  },
  {
    why: "two colons are not allowed in the host of a web URL",
    expr: "url('https://a:b:80/')",
    is: 'ERR URL parse error during conversion from string: parse "https://a:b:80/": invalid port ":b:80" after host',
    cost: 2,
  },
  { why: "but in others", expr: "url('ftp://a:b:80/').getHostname()", is: '"a:b"', cost: 3 },
  {
    why: "a port that is not a number",
    expr: "url('https://a:80x/')",
    is: 'ERR URL parse error during conversion from string: parse "https://a:80x/": invalid port ":80x" after host',
    cost: 2,
  },
  { why: "a host outside ASCII", expr: "url('http://\\u00e9.com/').getHost()", is: '"\u00e9.com"', cost: 3 },
  { why: "an escaped host outside ASCII", expr: "url('http://%C3%A9.com/').getHost()", is: '"\u00e9.com"', cost: 3 },
  {
    why: "an escaped host in ASCII",
    expr: "url('http://%41.com/')",
    is: 'ERR URL parse error during conversion from string: parse "http://%41.com/": invalid URL escape "%41"',
    cost: 2,
  },
  { why: "an escaped percent sign", expr: "url('http://%25.com/').getHost()", is: '"%.com"', cost: 3 },
  {
    why: "a space in the host",
    expr: "url('http://a b/')",
    is: 'ERR URL parse error during conversion from string: parse "http://a b/": invalid character " " in host name',
    cost: 2,
  },
  {
    why: "a wrong escape in the host",
    expr: "url('http://a%zz/')",
    is: 'ERR URL parse error during conversion from string: parse "http://a%zz/": invalid URL escape "%zz"',
    cost: 2,
  },
  {
    why: "a character that hosts do not have",
    expr: "url('http://a|b/')",
    is: 'ERR URL parse error during conversion from string: parse "http://a|b/": invalid character "|" in host name',
    cost: 2,
  },
  {
    why: "a backslash",
    expr: "url('http://a\\\\b/')",
    is: 'ERR URL parse error during conversion from string: parse "http://a\\\\b/": invalid character "\\\\" in host name',
    cost: 2,
  },
  { why: "quotes and angle brackets are allowed", expr: "url('http://a<b>\"/').getHost()", is: '"a<b>\\""', cost: 3 },
  {
    why: "no host",
    expr: "[url('/path').getHost(), url('http:///p').getHost(), url('http://').getHost()]",
    is: '["", "", ""]',
    cost: 16,
  },
]);

testAnswers([
  {
    why: "a user with a colon and an at sign in escapes",
    expr: "url('http://us%3Aer:p%40ss@a/').getHost()",
    is: '"a"',
    cost: 4,
  },
  { why: "the last at sign counts", expr: "url('http://a@b@c/').getHost()", is: '"c"', cost: 3 },
  {
    why: "a space in the user",
    expr: "url('http://us er@a/')",
    is: 'ERR URL parse error during conversion from string: parse "http://us er@a/": net/url: invalid userinfo',
    cost: 2,
  },
  {
    why: "a wrong escape in the user",
    expr: "url('http://us%zz@a/')",
    is: 'ERR URL parse error during conversion from string: parse "http://us%zz@a/": invalid URL escape "%zz"',
    cost: 2,
  },
]);

testAnswers([
  {
    why: "the path as it is written",
    expr: "url('https://h/a%2Fb/c%20d').getEscapedPath()",
    is: '"/a%2Fb/c%20d"',
    cost: 4,
  },
  {
    why: "what a path cannot have is escaped",
    expr: "url('https://h/a b/\\u00e9\"').getEscapedPath()",
    is: '"/a%20b/%C3%A9%22"',
    cost: 3,
  },
  { why: "escapes that are not needed stay", expr: "url('https://h/%41').getEscapedPath()", is: '"/%41"', cost: 3 },
  {
    why: "brackets and other special characters stay",
    expr: "url('https://h/!$&()*+,;=:@[]~-_.').getEscapedPath()",
    is: '"/!$&()*+,;=:@[]~-_."',
    cost: 4,
  },
  { why: "no path", expr: "url('https://h').getEscapedPath()", is: '""', cost: 2 },
  { why: "a path without a host", expr: "url('/a/b').getEscapedPath()", is: '"/a/b"', cost: 2 },
  { why: "two slashes are a path in a request", expr: "url('//host/path').getEscapedPath()", is: '"/path"', cost: 3 },
  { why: "three slashes are a path", expr: "url('///path').getEscapedPath()", is: '"///path"', cost: 2 },
  {
    why: "a wrong escape",
    expr: "url('http://a/%zz')",
    is: 'ERR URL parse error during conversion from string: parse "http://a/%zz": invalid URL escape "%zz"',
    cost: 2,
  },
  {
    why: "an escape that is cut off",
    expr: "url('http://a/%4')",
    is: 'ERR URL parse error during conversion from string: parse "http://a/%4": invalid URL escape "%4"',
    cost: 2,
  },
  { why: "a star", expr: "url('*').getEscapedPath()", is: '"*"', cost: 2 },
  { why: "an opaque URL has no path", expr: "url('mailto:x@y').getEscapedPath()", is: '""', cost: 2 },
  { why: "a scheme with a path and no host", expr: "url('x:/y').getEscapedPath()", is: '"/y"', cost: 2 },
]);

testAnswers([
  {
    why: "parameters by name",
    expr: "url('http://a/?x=1&x=2&y').getQuery()",
    is: '{"x": ["1", "2"], "y": [""]}',
    cost: 3,
  },
  { why: "plus signs and escapes", expr: "url('http://a/?a=b+c%20d').getQuery()", is: '{"a": ["b c d"]}', cost: 3 },
  {
    why: "empty parts are left out, empty names are not",
    expr: "url('http://a/?&&=e').getQuery()",
    is: '{"": ["e"]}',
    cost: 3,
  },
  {
    why: "further equals signs belong to the value",
    expr: "url('http://a/?a=b=c').getQuery()",
    is: '{"a": ["b=c"]}',
    cost: 3,
  },
  {
    why: "a parameter with a wrong escape is left out",
    expr: "url('http://a/?a=%zz&b=1').getQuery()",
    is: '{"b": ["1"]}',
    cost: 3,
  },
  {
    why: "a name with a wrong escape is left out",
    expr: "url('http://a/?%zz=1&b=1').getQuery()",
    is: '{"b": ["1"]}',
    cost: 3,
  },
  { why: "a semicolon is not a separator", expr: "url('http://a/?a;b=1&c=2').getQuery()", is: '{"c": ["2"]}', cost: 3 },
  { why: "no query", expr: "url('http://a/').getQuery()", is: "{}", cost: 2 },
  { why: "a question mark in the query", expr: "url('http://a/?b=c?d').getQuery()", is: '{"b": ["c?d"]}', cost: 3 },
]);

testAnswers([
  {
    why: "a relative path",
    expr: "url('path')",
    is: 'ERR URL parse error during conversion from string: parse "path": invalid URI for request',
    cost: 1,
  },
  {
    why: "an empty string",
    expr: "url('')",
    is: 'ERR URL parse error during conversion from string: parse "": empty url',
    cost: 0,
  },
  {
    why: "no scheme before the colon",
    expr: "url(':foo')",
    is: 'ERR URL parse error during conversion from string: parse ":foo": missing protocol scheme',
    cost: 1,
  },
  {
    why: "a scheme that starts with a digit",
    expr: "url('1http://a')",
    is: 'ERR URL parse error during conversion from string: parse "1http://a": invalid URI for request',
    cost: 1,
  },
  {
    why: "a control character",
    expr: "url('http://a\\n/')",
    is: 'ERR URL parse error during conversion from string: parse "http://a\\n/": net/url: invalid control character in URL',
    cost: 1,
  },
  {
    why: "the delete character",
    expr: "url('http://a\\u007f/')",
    is: 'ERR URL parse error during conversion from string: parse "http://a\\x7f/": net/url: invalid control character in URL',
    cost: 1,
  },
  {
    why: "a fragment is part of the path in a request",
    expr: "url('http://a/#frag').getEscapedPath()",
    is: '"/"',
    cost: 3,
  },
  { why: "not a string", expr: "url(dyn(1))", is: "ERR no such overload: url(int)", cost: 1 },
  {
    why: "whether something is a URL",
    expr: "['https://example.com', 'example.com', '/a', '', 'http://a/%zz', 'x:y', '*'].map(u, isURL(u))",
    is: "[true, false, true, false, false, true, true]",
    cost: 99,
  },
  { why: "not a string to check", expr: "isURL(dyn(1))", is: "ERR no such overload: isURL(int)", cost: 1 },
]);

testAnswers([
  { why: "equal URLs", expr: "url('http://a/') == url('http://a/')", is: "true", cost: 3 },
  { why: "the case of the host counts", expr: "url('http://A/') == url('http://a/')", is: "false", cost: 3 },
  { why: "an empty query counts", expr: "url('http://a/?') == url('http://a/')", is: "false", cost: 3 },
  {
    why: "escapes are compared as written",
    expr: "url('http://a/b%2fc') == url('http://a/b%2Fc')",
    is: "false",
    cost: 5,
  },
  {
    why: "a scheme without a host and one with an empty host",
    expr: "url('x:/y') == url('x:///y')",
    is: "false",
    cost: 3,
  },
  { why: "opaque URLs", expr: "url('mailto:x@y') == url('mailto:x@y')", is: "true", cost: 3 },
  { why: "users are compared", expr: "url('http://a@h/') == url('http://b@h/')", is: "false", cost: 5 },
  { why: "a fragment is compared", expr: "url('http://a/#x') == url('http://a/#y')", is: "false", cost: 5 },
  { why: "a URL and a string", expr: "dyn(url('http://a/')) == dyn('http://a/')", is: "ERR no such overload", cost: 3 },
]);

testAnswers(
  [
    { why: "reading costs the text", expr: "url(self.s).getHost() == 'a'", is: "true", cost: 5, min: 4n, max: 8n },
    { why: "whether something is a URL costs one", expr: "isURL(self.s)", is: "true", cost: 3, min: 3n, max: 3n },
    { why: "equality costs the text", expr: "url(self.s) == url('http://a/b')", is: "true", cost: 5, min: 4n, max: 8n },
    { why: "the query", expr: "url(self.s).getQuery().size() == 0", is: "true", cost: 6, min: 5n, max: 9n },
  ],
  subject,
);
