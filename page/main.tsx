import { render } from 'preact';
import { Shell } from './shell.tsx';
import './app.css';

const root = document.getElementById('app');
if (root) render(<Shell />, root);
