import { render } from 'preact';
import { resume } from './core/session.ts';
import { Shell } from './shell.tsx';
import './app.css';

const root = document.getElementById('app');
if (root) void resume().finally(() => render(<Shell />, root));
