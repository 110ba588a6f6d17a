#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=4
// Starts the assistant on Node 24 or newer. Written so that any older Node can read it and say what is needed.
'use strict';

var fs = require('fs');
var path = require('path');

var NEEDED = 24;
var MANY_HOMES = '--max-semi-space-size=32';
var compiled = path.join(__dirname, 'main.js');
var main = fs.existsSync(compiled) ? compiled : path.join(__dirname, 'main.ts');

/** Starts of a program on trial, before the one that is installed here has the next. */
var MOST_STARTS = 3;

function homeFolder() {
  var args = process.argv.slice(2);
  var at = args.indexOf('--home');
  var joined = args.find(function (word) {
    return word.indexOf('--home=') === 0;
  });
  var user = process.env.HOME || require('os').homedir();
  var home = (at >= 0 && args[at + 1]) || (joined && joined.slice(7)) || process.env.ASSISTANT_HOME;
  return path.resolve((home || '~/.assistant').replace(/^~(?=\/|$)/, user));
}

/** The program that `assistant upgrade` put into the place of this one for the home that is meant; null: none. */
function upgradedProgram() {
  try {
    var folder = path.join(homeFolder(), 'programs');
    var pointer = path.join(folder, 'current.json');
    // What another user could have written is not run.
    if (process.getuid && fs.statSync(pointer).uid !== process.getuid()) return null;
    var current = JSON.parse(fs.readFileSync(pointer, 'utf8'));
    if (current.from !== require('../package.json').version || !/^\d[\w.+-]*$/.test(current.version)) return null;
    var found = path.join(folder, current.version, 'node_modules', 'assistantd', 'dist', 'main.js');
    if (!fs.existsSync(found)) return null;
    if (!current.isConfirmed) {
      var starts = path.join(folder, 'starts');
      if (process.argv.indexOf('gateway') > 0) fs.appendFileSync(starts, '.', { mode: 384 });
      if (fs.existsSync(starts) && fs.statSync(starts).size > MOST_STARTS) return null;
    }
    return found;
  } catch {
    return null;
  }
}

/**
 * A gateway of many homes has many turns at once: with the space for new objects that is enough for one home, it spends a quarter of its time
 * on collecting garbage. Only a new start of Node can change that; the process stays the same.
 */
function giveManyHomesSpace() {
  var flags = process.execArgv.filter(function (flag) {
    return flag.indexOf('--max-semi-space-size=') !== 0;
  });
  if (!process.execve || process.execArgv.indexOf(MANY_HOMES) >= 0 || process.argv.indexOf('gateway') < 2) return;
  try {
    var config = fs.readFileSync(path.join(homeFolder(), 'config.json'), 'utf8');
    if (!/"homes"\s*:\s*\{[^{}]*"enabled"\s*:\s*true/.test(config)) return;
    process.execve(process.execPath, [process.execPath, MANY_HOMES].concat(flags, process.argv.slice(1)), process.env);
  } catch {
    // It runs with less.
  }
}

giveManyHomesSpace();
if (main === compiled) main = upgradedProgram() || main;
if (process.argv[2] === '__complete') {
  var complete = path.join(path.dirname(main), 'complete.js');
  if (fs.existsSync(complete)) main = complete;
}

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
    env: Object.assign({ MALLOC_ARENA_MAX: '2' }, process.env),
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
  // Under load it halves what is kept of memory that no one uses, and costs nothing that can be measured.
  require('v8').setFlagsFromString('--heap-growing-percent=50');
  // Before anything that has to be compiled or stripped of types: main itself included.
  require('module').enableCompileCache();
  require(main);
} else {
  var node = bundledNode();
  if (node === null) fail();
  else runWith(node);
}
