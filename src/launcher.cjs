#!/usr/bin/env -S node --max-semi-space-size=4
// Starts the assistant on Node 24 or newer. Written so that any older Node can read it and say what is needed.
'use strict';

var fs = require('fs');
var path = require('path');

var NEEDED = 24;
var compiled = path.join(__dirname, 'main.js');
var main = fs.existsSync(compiled) ? compiled : path.join(__dirname, 'main.ts');

/** The Node that a package manager may have put beside this package. */
function bundledNode() {
  try {
    var folder = path.dirname(require.resolve('node/package.json'));
    var major = Number(require('node/package.json').version.split('.')[0]);
    var file = path.join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return major >= NEEDED && fs.existsSync(file) ? file : null;
  } catch {
    return null;
  }
}

function runWith(node) {
  var child = require('child_process').spawn(node, ['--max-semi-space-size=4', main].concat(process.argv.slice(2)), {
    stdio: 'inherit',
  });
  ['SIGINT', 'SIGTERM', 'SIGHUP'].forEach(function (signal) {
    process.on(signal, function () {
      // The terminal sends Ctrl-C to both.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  });
  child.on('error', fail);
  child.on('exit', function (code, signal) {
    process.exit(code === null ? 128 + (require('os').constants.signals[signal] || 0) : code);
  });
}

function fail() {
  process.stderr.write(
    'assistant needs Node ' +
      NEEDED +
      ' or newer; this is Node ' +
      process.versions.node +
      '. Get it from https://nodejs.org.\n',
  );
  process.exit(1);
}

if (Number(process.versions.node.split('.')[0]) >= NEEDED) {
  // Under load it halves what is kept of memory that nobody uses, and costs nothing that can be measured.
  require('v8').setFlagsFromString('--heap-growing-percent=50');
  // Before anything that has to be compiled or stripped of types: main itself included.
  require('module').enableCompileCache();
  require(main);
} else {
  var node = bundledNode();
  if (node === null) fail();
  else runWith(node);
}
